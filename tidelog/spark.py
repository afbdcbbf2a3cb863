"""tidelog in a program of PySpark: a DataFrame of facts in, a DataFrame of answers out."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from tidelog.compiling import compile
from tidelog.connectors import spark
from tidelog.connectors.spark.cluster.requirements import STREAM_SETTINGS
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan

if TYPE_CHECKING:
    from fractions import Fraction

    from pyspark.sql import DataFrame

__all__ = ["STREAM_SETTINGS", "explain", "reason"]


def reason(  # noqa: PLR0913 - every option has a default, and names what it is
    data: DataFrame | Mapping[str, DataFrame],
    program: Plan | str,
    *,
    output: str | None = None,
    emit: Literal["intervals", "final"] | None = None,
    start: str | int | Fraction | None = None,
    lateness: str | int | Fraction = 0,
    buckets: int | None = None,
    problems: Literal["fail", "drop"] = "fail",
) -> DataFrame:
    """What follows from rows by a program, in the session that the rows are of, as a batch or as a stream.

    `data` has a DataFrame for each predicate whose facts its rows are; one DataFrame alone where the program reads one
    predicate of data. Its columns are the predicate's fields and `time`, or `from` and `to` (the closed interval between
    them), in any order; or those of the tables that tidelog writes. `program` is a text or a compiled plan.

    With `output` the result is the table of that predicate. Its columns are the predicate's fields, as the program or
    `output` itself declares them, such as `"hot(node: text, value: number)"`, or as they follow from the rules and the
    frames: `"hot(*)"` (without any `arguments`, an array of JSON texts). Beside them are the times: `start` and `end`
    (exact, as text; NULL where the interval has no end), `start_time` and `end_time` (timestamps where the program declares
    a unit, otherwise doubles), `start_open` and `end_open`. Rows that are no facts, late ones and violated constraints are
    `problems`: they fail the query, or are dropped.

    Without `output` the result is one table with all answers: `predicate`, `arguments` and the times. A problem is a row of
    it, with a text in `problem`.

    Answers are told as intervals once they are known (`emit="intervals"`, the default of a stream), or whole and maximal
    (`"final"`, the default of a batch). `start` is when the stream starts, and `lateness` how far facts may begin before the
    last one of the batches before. The keys of each stage of the program are dealt into so many `buckets`, each of them a
    session: 8 in a batch, each of which one task works on; in a stream up to 512, of which a batch costs those that it has
    facts of, or that are due. A stream keeps the number in its checkpoint.
    Nothing runs before the result is used, but for a look at the first and the last time of a batch where it matters, and,
    once a session, at the workers of a cluster: they get this tidelog where they lack it.

    A stream keeps its state in RocksDB: set `STREAM_SETTINGS` in `spark.conf` before, and write with `outputMode("append")`.

    DataFrames of Spark Connect are taken, too; behind it a stream needs tidelog in the Python of the server.

    Raises ProgramError where the program is wrong or cannot be split by keys, SpecError where frames, columns and options do
    not fit it, ConnectorError where a package is missing, or what workers need and cannot be sent.
    """
    plan = _planned(program)
    running = import_module("tidelog.connectors.spark.running.reasoning")  # now that PySpark is there
    stages = "tidelog.runtime.columns.stages"
    staged, flow = import_module(f"{stages}.staged"), import_module(f"{stages}.flow")  # they need NumPy
    frames = _named(data, plan)
    wanted = running.Wanted(output, emit, start, lateness, buckets, problems)
    found: DataFrame = running.reason(frames, plan, wanted, flow.open_flow, staged.open_history)
    return found


def explain(data: DataFrame | Mapping[str, DataFrame], program: Plan | str) -> str:
    """How `reason` would run a program on these frames, as text: beside `reason(…).explain()`, which is Spark's own plan.

    For each frame it tells the columns that Spark reads, and the filter of Spark's that keeps rows from Python which no rule
    needs; for each stage of the program what goes in and out, the nodes of Spark's plan that run it, and the steps in them.
    Nothing runs. Errors are those of `reason`.
    """
    plan = _planned(program)
    explained = import_module("tidelog.connectors.spark.running.explained")
    text: str = explained.explained(_named(data, plan), plan)
    return text


def _planned(program: object) -> Plan:
    """The plan of a program, and PySpark is there."""
    if not isinstance(program, str | Plan):
        raise SpecError(f"`program` is a text or a compiled plan, got {type(program).__name__}")
    spark.check_packages()
    return compile(program) if isinstance(program, str) else program


def _named(data: DataFrame | Mapping[str, DataFrame], plan: Plan) -> Mapping[str, DataFrame]:
    return data if isinstance(data, Mapping) else {_only_input(plan): data}


def _only_input(plan: Plan) -> str:
    """The predicate of which the data hold facts, where the program reads one alone."""
    given = import_module("tidelog.connectors.spark.running.given")
    names: list[str] = given.read_of_data(plan)
    if len(names) != 1:
        read = ", ".join(names) or "no predicate"
        raise SpecError(f"the program reads {read} of data: pass a frame for each, such as `{{'temp': df}}`")
    return names[0]
