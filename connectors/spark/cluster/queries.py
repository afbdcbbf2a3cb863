"""Spark's work from the outside: streaming queries that are waited for, and the line that says why something failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from tidelog.plans.diagnostics.errors import ConnectorError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

SPARK_ERRORS: tuple[type[Exception], ...] = (PySparkException,)
"""What a call of Spark's raises."""
_LOST: tuple[type[Exception], ...] = (ConnectionError,)
"""What it raises where the process behind it is gone."""
_FAILURES: tuple[type[Exception], ...] = (*SPARK_ERRORS, OSError)
with suppress(ImportError):  # the client of Spark Connect alone has no Java beside it
    from py4j.protocol import Py4JError, Py4JNetworkError

    SPARK_ERRORS, _FAILURES = (*SPARK_ERRORS, Py4JError), (*_FAILURES, Py4JError)
    _LOST = (*_LOST, Py4JNetworkError)

_LOOKS = 1
"""How many seconds pass between two looks at whether it is done."""
_ERROR = re.compile(rf"{re.escape(ConnectorError.__module__)}\.\w+Error: ")
_OTHER_ERROR = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception): ")
_CODES = re.compile(r"^\[[A-Z_.0-9]+\]\s*|\.?\s*SQLSTATE: \w+.*$")
_MOST_CAUSES = 20
_KNOWN = [
    (re.compile(pattern), said)
    for pattern, said in (
        (
            "stopped SparkContext|All masters are unresponsive",
            "the cluster does not answer, or has ended the run: `--log FILE` keeps what Spark says of it",
        ),
        (
            r"ClassNotFoundException: (?:Class )?([\w.$]+)",
            r"a jar with the class \1 is missing: name its package with `--packages` (for `s3a:` that is "
            "`org.apache.hadoop:hadoop-aws` of the version of Spark's Hadoop)",
        ),
        (
            'No FileSystem for scheme "(.*)"',
            r"Spark knows no file system `\1:`; it knows `file:` and `hdfs:`, and what a jar brings that `--packages` names",
        ),
        (
            "Python worker failed to connect back",
            "a Python worker did not start in time, in several tries: the machine is too busy",
        ),
        (
            r"Python in worker has different version: (\S+) than that in driver: (\d[\d.]*\d)",
            r"the workers' Python is \1, and this one \2: name one like this by the variable `PYSPARK_PYTHON`, or bring it "
            "with an environment: `--archives env.tar.gz`",
        ),
        (
            'Cannot run program "(.*?)"',
            r"workers cannot start `\1`: name the Python that they have by the variable `PYSPARK_PYTHON`, or bring one with "
            "an environment: `--archives env.tar.gz`",
        ),
        (
            "Address already in use|Service '(.*)' failed after",
            "a port of Spark's is in use: choose another with `--conf`",
        ),
    )
]
"""What of Spark's pages has a known cause: how it is found, and what is said instead."""
_CALL = "An error occurred while calling "
_TRACEBACK = "Traceback (most recent call last):"


def run_query(
    start: Callable[[], StreamingQuery], is_stopped: Callable[[], bool], is_done: Callable[[], bool] = lambda: False
) -> None:
    """Start a query and wait until it has ended, or it `is_stopped` or `is_done`; then it is stopped.

    ConnectorError where it fails for good.
    """
    with told_in_a_line(is_stopped):
        query = start()
        try:
            while not query.awaitTermination(_LOOKS):
                if is_stopped() or is_done():
                    break
        finally:
            query.stop()


@contextmanager
def told_in_a_line(is_stopped: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """What Spark raises inside, as a ConnectorError; nothing once it `is_stopped`."""
    try:
        yield
    except _FAILURES as error:
        if not is_stopped():  # a signal to all processes ends Spark's, too
            raise ConnectorError(f"Spark has given up: {why(error)}") from error


def why(error: Exception) -> str:
    """What an error of Spark's comes from, in a line, with the remedy where one is known."""
    if isinstance(error, _LOST):  # nobody else is asked directly
        return "its process (the JVM) has ended, killed or for lack of memory: `--log FILE` keeps what it says"
    texts = [str(error), *_causes(error)]
    for text in texts:
        for pattern, said in _KNOWN:
            found = pattern.search(text)
            if found:
                return found.expand(said)
    told = reason(texts[0])
    if _TRACEBACK in texts[0] or len(texts) == 1:
        return told
    deepest = _CODES.sub("", reason(texts[-1]))
    return deepest[:1].lower() + deepest[1:]


def _causes(error: Exception) -> list[str]:
    """What Java says of an error, from the call that has failed down to what has made it fail."""
    java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    said: list[str] = []
    while java is not None and len(said) < _MOST_CAUSES:
        said.append(str(java.getMessage() or java.toString()))
        java = java.getCause()
    return said


def reason(text: str) -> str:
    """The line that says why, of the many of a failure: the last error that Python tells, if any, rather one of ours; or
    what Java says of a call that has failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if _ERROR.match(line)]
    others = [line for line in lines if _OTHER_ERROR.match(line) and _CALL not in line] if _TRACEBACK in lines else []
    calls = [line.removeprefix(": ") for call, line in pairwise(lines) if _CALL in call]
    return _ERROR.sub("", told[-1]) if told else (others[-1:] or calls[:1] or lines[:1] or ["it does not say why"])[0]
