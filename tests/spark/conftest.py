"""What the tests of Spark share: one session, since starting it takes seconds, and outboxes filled through a program."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelog
from spark.quick import JAVA
from tidelog.connectors.outbox.outbox import Outbox
from tidelog.connectors.spark import register, spark_session
from tidelog.plans.data.facts import Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
timeline rational, unit 1 s, resolution 1.
output hot, seen, on.
hot(S, V) :- temp(S, V).
seen(S) :- temp(S, _).
on :- temp(_, _).
"""

QUICK = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.sql.codegen.wholeStage": "false",
}

Fill = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves its sockets on loopback to the garbage collector, so here, and only here, they are no error."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


def _collect_sockets() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(autouse=True)
def no_sockets_left() -> Iterator[None]:
    """What PySpark has left is collected before another test, which knows nothing of it, would have to."""
    yield
    _collect_sockets()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of all tests, the data source registered."""
    session = spark_session("tests", cores=2, settings=QUICK)
    register(session)
    yield session
    session.stop()
    del session
    _collect_sockets()


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """Put facts into the outbox of a node, in one commit; returns its directory."""

    def fill(
        node: str, records: Sequence[Record], program: str = PROGRAM, frontier: int = 0, *, holds_changes: bool = False
    ) -> str:
        path = os.fspath(tmp_path / f"outbox-{node}")
        clock = iter(range(1_700_000_000_000_000, 1_800_000_000_000_000, 1_000_000)).__next__
        plan = tidelog.compile(program)
        with Outbox(path, plan, node=node, clock=clock, holds_changes=holds_changes) as outbox:
            outbox.append(records, frontier)
            outbox.commit(b"")
        return path

    return fill
