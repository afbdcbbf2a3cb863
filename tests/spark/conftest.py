"""What the tests of Spark share: one session, since starting it takes seconds, and outboxes filled through a program."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lake.conftest import fill
from lake.filling import Fill

from spark.quick import JAVA
from tidelog.connectors.spark import register, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Fill", "fill"]

QUICK = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.sql.codegen.wholeStage": "false",
}


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
