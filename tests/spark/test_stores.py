"""Where tables lie: in a folder and in an object store, files are there as a whole, and new ones replace no others."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import botocore.exceptions
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

from tidelog.connectors.spark.tables import s3_store
from tidelog.connectors.spark.tables.stores import Store, open_store
from tidelog.connectors.spark.tables.tables import KEPT, Manifest, Tables, newest
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

from .buckets import bucket
from .test_tables import BATCHES, expected, write


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty place for tables."""
    if request.param == "folder":
        yield os.fspath(tmp_path / "tables")
    else:
        with bucket(monkeypatch) as uri:
            yield uri


def test_files_of_a_store(place: str) -> None:
    """What is written is read; a new file is made once; a folder that is not there holds nothing; workers can have it."""
    store: Store = cloudpickle.loads(cloudpickle.dumps(open_store(place)))
    assert store.names("a") == []
    store.put("a/b/1", b"one")
    store.put("a/b/1", b"two")
    assert store.put_new("a/2", b"x")
    assert not store.put_new("a/2", b"y")
    store.put("ab/3", b"")
    assert (store.get("a/b/1"), store.get("a/2")) == (b"two", b"x")
    assert store.names("a") == ["a/2", "a/b/1"]
    store.remove("a/2")
    store.remove("a/2")
    assert store.names("a") == ["a/b/1"]
    with pytest.raises(FileNotFoundError):
        store.get("a/2")


def test_of_many_who_write_a_file_one_has(place: str) -> None:
    """At the same moment, too."""
    store = open_store(place)
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: store.put_new("_log/1", bytes([number])), range(16)))
    assert won.count(True) == 1
    assert store.get("_log/1") == bytes([won.index(True)])


def test_tables_in_an_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches become versions there as they do in a folder, and old ones are taken away."""
    with bucket(monkeypatch) as uri:
        for number, facts in enumerate(BATCHES):
            write(uri, number, facts)
        store = open_store(uri)
        rows = []
        for segment in newest(store).segments:
            if segment.predicate == "p":
                found = pq.ParquetFile(io.BytesIO(store.get(segment.path))).read().to_pylist()
                rows += [(segment.node, row["arguments"][0], row["start"], row["end"], row["last_seq"]) for row in found]
        assert sorted(rows) == expected(BATCHES, "p")
        for number in range(KEPT):
            write(uri, number, BATCHES[0])
        assert len(store.names("_log")) == KEPT


def test_a_reply_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is sent again, and the version that is found to be there is one's own; another's is told."""
    with bucket(monkeypatch) as uri, Tables(uri) as tables:
        client = s3_store.client()
        lost: list[str] = []

        def lose(request: Any, **_: Any) -> None:
            """Let S3 have the request, and nobody its reply."""
            if not lost and "_log" in request.url:
                lost.append(request.url)
                client._endpoint.http_session.send(request)
                raise botocore.exceptions.ConnectionClosedError(endpoint_url=request.url)

        client.meta.events.register("before-send.s3.PutObject", lose)
        tables.publish(Manifest(1, tables.writer))
        assert (len(lost), tables.manifest.version) == (1, 1)
        with Tables(uri) as other:
            other.publish(Manifest(2, other.writer))
        with pytest.raises(ConnectorError, match="another process has written version 2"):
            tables.publish(Manifest(2, tables.writer))


def test_places_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other object stores, a bucket without a name, and a bucket that nobody can reach are told."""
    for uri in ("hdfs://plant/tables", "s3://", "abfss://a@b/c"):
        with pytest.raises(SpecError, match="tables are in a folder of this machine, or at `s3://BUCKET/PATH`"):
            open_store(uri)
    with bucket(monkeypatch), pytest.raises(SpecError, match=r"cannot write tables to `s3://nowhere/x`.*NoSuchBucket"):
        Tables("s3://nowhere/x").__enter__()
