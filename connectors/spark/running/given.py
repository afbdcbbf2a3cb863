"""The frames that a caller passes to a program: what is refused of them, before Spark runs anything."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, DataType, FractionalType, IntegralType, StringType

from tidelog.connectors.spark.running.inputs.frames import layout_of_frame
from tidelog.plans.analysis.fields import FieldGuess
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import FieldType, Input
from tidelog.plans.tree.walk import derived, statements_of

_TYPES: tuple[tuple[type[DataType], FieldType], ...] = (
    (StringType, "text"),
    (BooleanType, "boolean"),
    (IntegralType, "integer"),
    (FractionalType, "number"),
)

logger = logging.getLogger("tidelog")


def check_frames(data: Mapping[str, DataFrame], plan: Plan) -> bool:
    """Whether they are streams, which all are or none is.

    SpecError for what is no frame, or is of no predicate of the program. What the program reads, and is not there, is told
    as a warning: rules may well speak of what has not come yet.
    """
    if not data:
        raise SpecError("no frame to reason about: pass a DataFrame for each predicate that the data hold")
    for name, frame in data.items():
        _check_frame(name, frame)
    kinds = {frame.isStreaming for frame in data.values()}
    if len(kinds) > 1:
        raise SpecError("some frames are streams and some are not: read what does not change as a stream, too")
    for name in data:
        if name not in plan.schema.predicates:
            raise SpecError(
                f"the program has no predicate `{name}`, of which there is a frame{suggest(name, plan.schema.predicates)}"
            )
    lacking = [f"`{name}`" for name in read_of_data(plan) if name not in data]
    if lacking:
        logger.warning("the program also reads %s, of which there is no frame, and so no fact", ", ".join(lacking))
    return kinds.pop()


def _check_frame(name: object, frame: object) -> None:
    """SpecError where it is no frame of PySpark's; one of Spark Connect is one."""
    if not isinstance(name, str):
        raise SpecError(f"frames are named by their predicates, such as `{{'temp': df}}`, got `{name!r}`")
    if isinstance(frame, DataFrame):
        return
    found = f"{type(frame).__module__}.{type(frame).__name__}"
    told = ": make one of it with `spark.createDataFrame`" if found.startswith(("pandas.", "pyarrow.")) else ""
    raise SpecError(f"expected a DataFrame of PySpark for `{name}`, got {found}{told}")


def check_columns(data: Mapping[str, DataFrame], plan: Plan) -> None:
    """SpecError where the columns of a frame are not those of its predicate's facts, with the place of its declaration."""
    for name, frame in data.items():
        try:
            layout_of_frame(frame.schema, name, plan.schema)
        except DataError as error:
            raise SpecError(f"cannot read `{name}`: {error.reason}{declared_at(plan, name)}") from None


def given_fields(data: Mapping[str, DataFrame], plan: Plan) -> dict[str, list[FieldGuess]]:
    """The fields of the predicates of which there are frames, as the program declares them, or else as their columns are."""
    found: dict[str, list[FieldGuess]] = {}
    for name, frame in data.items():
        layout, known = layout_of_frame(frame.schema, name, plan.schema), plan.schema.predicates[name]
        if layout.values is None:  # one column has all arguments
            found[name] = [FieldGuess("", "any")] * known.arity
            continue
        columns = [(column, frame.schema[column].dataType) for column in layout.columns[: len(layout.values)]]
        names = known.fields or [column for column, _ in columns]
        types: Sequence[FieldType] = known.types or ["any"] * len(columns)
        kinds = [_type_of(kind) if told == "any" else told for told, (_, kind) in zip(types, columns, strict=True)]
        found[name] = [FieldGuess(field, kind) for field, kind in zip(names, kinds, strict=True)]
    return found


def _type_of(kind: DataType) -> FieldType:
    for known, told in _TYPES:
        if isinstance(kind, known):
            return told
    return "any"


def read_of_data(plan: Plan) -> list[str]:
    """The predicates that only data hold facts of: rules read them, and neither derive nor state them."""
    read = {feed.name for step in plan.steps for feed in step.inputs if feed.kind == "stream"}
    return sorted(read - set(derived(plan.program)) - {predicate for predicate, *_ in plan.facts})


def declared_at(plan: Plan, predicate: str) -> str:
    """Where the program declares an input, as ` (declared at NAME:LINE:COLUMN)`; nothing where it does not."""
    for item in statements_of(plan.program, Input):
        if item.predicate == predicate and plan.program.text:
            text, start = plan.program.text, item.span.start
            line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
            return f" (declared at {plan.name}:{line}:{column})"
    return ""
