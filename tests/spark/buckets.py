"""A server that speaks S3, on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tidelog.connectors.spark.tables import s3_store


@contextmanager
def bucket(patch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URI of an empty bucket, for this process and for those that it starts."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in {
            "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "plant",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        s3_store.client.cache_clear()
        reset = f"http://{host}:{port}/moto-api/reset"  # all servers of a process hold the same
        urlopen(Request(reset, method="POST")).close()
        boto3.client("s3").create_bucket(Bucket="plant")
        yield "s3://plant/derived"
    finally:
        server.stop()
        s3_store.client.cache_clear()
