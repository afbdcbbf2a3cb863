"""A store in a bucket of S3, or of what speaks its protocol and has conditional writes (`If-None-Match`).

Credentials, region and endpoint are what boto3 finds: in `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL_S3` and their like, in
`~/.aws`, or as the machine's role.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

_ATTEMPTS = 8
_MISSING = ("NoSuchKey", "404")
_TAKEN = ("PreconditionFailed", "412")
_BUSY = ("ConditionalRequestConflict", "409")


@dataclass(frozen=True, slots=True)
class S3Store:
    """The objects of a bucket whose keys begin with `folder`."""

    place: str
    bucket: str
    folder: str

    def get(self, name: str) -> bytes:
        with _told(self.place):
            found: bytes = client().get_object(Bucket=self.bucket, Key=self._key(name))["Body"].read()
        return found

    def put(self, name: str, data: bytes) -> None:
        with _told(self.place):
            client().put_object(Bucket=self.bucket, Key=self._key(name), Body=data)

    def put_new(self, name: str, data: bytes) -> bool:
        for _ in range(_ATTEMPTS):
            try:
                with _told(self.place):
                    client().put_object(Bucket=self.bucket, Key=self._key(name), Body=data, IfNoneMatch="*")
            except FileExistsError:
                return False
            except BlockingIOError:  # another one is writing it just now
                continue
            return True
        raise OSError(f"`{self.path(name)}`: others write it all the time")

    def names(self, folder: str) -> list[str]:
        prefix = self._key(folder) + "/"
        with _told(self.place):
            pages = client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
            keys = [item["Key"] for page in pages for item in page.get("Contents", ())]
        return sorted(f"{folder}/{key[len(prefix) :]}" for key in keys)

    def remove(self, name: str) -> None:
        with _told(self.place):
            client().delete_object(Bucket=self.bucket, Key=self._key(name))

    def path(self, name: str) -> str:
        return f"{self.place}/{name}"

    def _key(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name


@cache
def client() -> Any:
    """One client a process; a request without a reply is sent again."""
    return boto3.client("s3", config=Config(retries={"max_attempts": _ATTEMPTS, "mode": "standard"}))


@contextmanager
def _told(place: str) -> Iterator[None]:
    """What S3 says as an OSError of the kind that it is."""
    try:
        yield
    except ClientError as error:
        code, message = error.response["Error"].get("Code", ""), error.response["Error"].get("Message", "")
        if code in _MISSING:
            raise FileNotFoundError(f"`{place}`: {message}") from None
        if code in _TAKEN:
            raise FileExistsError(f"`{place}`: {message}") from None
        if code in _BUSY:
            raise BlockingIOError(f"`{place}`: {message}") from None
        raise OSError(f"`{place}`: {message} ({code})") from None
    except BotoCoreError as error:
        raise OSError(f"`{place}`: {error}") from None
