"""A server that speaks S3, on this machine, in a process of its own: who waits for it by the library lets no other run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
import pytest

_SERVER = """
import logging
import sys
import threading

from moto.server import ThreadedMotoServer

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print("http://{}:{}".format(*server.get_host_and_port()), flush=True)
sys.stdin.read()
"""


@contextmanager
def bucket(patch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URI of an empty bucket, for this process and for those that it starts."""
    names = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", _SERVER], stdin=pipe, stdout=pipe, text=True, env=names)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for name, value in {
            "AWS_ENDPOINT_URL_S3": process.stdout.readline().strip(),
            "AWS_ACCESS_KEY_ID": "plant",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        boto3.client("s3").create_bucket(Bucket="plant")
        yield "s3://plant/derived"
    finally:
        process.kill()
        process.communicate()
