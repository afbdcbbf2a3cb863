"""The stages of a plan as `check -v` and `explain` tell them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidelog.plans.data.facts import format_predicate
from tidelog.plans.data.timeline import format_time
from tidelog.plans.language.printing import format_formula, format_program
from tidelog.plans.stages.stages import Stage, StageInput, StagePlan


def stage_lines(stages: StagePlan) -> Iterator[str]:
    """A line for each stage, what goes in and what comes out, and below it what whoever runs it has to know."""
    for problem in stages.problems:
        yield f"none: {problem.message}; {problem.help}"
    for stage in stages.stages:
        going_in = dict.fromkeys(_pattern(item.predicate, stage, item.name) for item in stage.inputs)
        coming_out = [_pattern(name, stage, name) for name in stage.outputs]
        coming_out += ["bottom"] if stage.constraints else []
        coming_out += [f"answers to {format_formula(stage.asked.query)}"] if stage.asked is not None else []
        yield f"{stage.number}: {', '.join(going_in) or 'nothing'} -> {', '.join(coming_out) or 'nothing'}"
        yield from (f"  {line}" for line in _conditions(stage))


def _pattern(predicate: str, stage: Stage, name: str) -> str:
    """A predicate with the key in its place: `temp(K, _)`."""
    arity = stage.plan.schema.predicates[name].arity
    arguments = ["K" if stage.key is not None and place == stage.key.get(name) else "_" for place in range(arity)]
    return f"{format_predicate(predicate)}({', '.join(arguments)})" if arguments else format_predicate(predicate)


def _conditions(stage: Stage) -> Iterator[str]:
    if stage.key is None:
        yield (
            f"one session, because of {stage.prevented_by}"
            if stage.prevented_by
            else "one session, since no stream feeds it"
        )
    yield from (_moved(item) for item in stage.inputs if item.source is not None)
    if stage.broadcast:
        yield f"each session has {', '.join(map(format_predicate, stage.broadcast))}"
    if stage.seeds is not None:
        yield "keys that the program states have a session from the start"
    if stage.needs_start:
        yield "needs the stream's start, for its windows are clipped there"
    if stage.needs_order:
        yield "needs the facts in the order of their arrival"


def _moved(item: StageInput) -> str:
    text = f"{format_predicate(item.predicate)} comes from stage {item.source}"
    text += ", to another key" if item.is_rekeyed else ""
    return text + (f", up to {format_time(item.delay)} behind the watermark" if item.delay else "")


def stage_fields(stages: StagePlan) -> dict[str, object]:
    """The same as fields, fit for JSON; places of arguments count from 1, times are exact, as text.

    - `problems`: why there are no stages: `code`, `message`, `help`
    - `stages`: `number`; `key` (predicate to place, or null) and `prevented_by` (a rule, or empty); `inputs` (`name` in the
      stage's program, `predicate` as told, `stage` that tells it or null for the stream, `key` or null, `rekeyed`, `delay`);
      `outputs` (predicate to delay) and `told` (those for users); `asked` (the query that it answers, or null);
      `broadcast`; `constraints`; `program` (its statements) and `seeds` (the same, or null); `needs_start`, `needs_order`
    """
    problems = [{"code": item.code, "message": item.message, "help": item.help} for item in stages.problems]
    return {"problems": problems, "stages": [_stage(stage) for stage in stages.stages]}


def _stage(stage: Stage) -> Mapping[str, object]:
    return {
        "number": stage.number,
        "key": None if stage.key is None else {name: place + 1 for name, place in stage.key.items()},
        "prevented_by": stage.prevented_by,
        "inputs": [_input(item) for item in stage.inputs],
        "outputs": {name: format_time(delay) for name, delay in stage.outputs.items()},
        "told": list(stage.told),
        "asked": None if stage.asked is None else format_formula(stage.asked.query),
        "broadcast": list(stage.broadcast),
        "constraints": list(stage.constraints),
        "program": format_program(stage.program).splitlines(),
        "seeds": None if stage.seeds is None else format_program(stage.seeds.program).splitlines(),
        "needs_start": stage.needs_start,
        "needs_order": stage.needs_order,
    }


def _input(item: StageInput) -> Mapping[str, object]:
    return {
        "name": item.name,
        "predicate": item.predicate,
        "stage": item.source,
        "key": None if item.position is None else item.position + 1,
        "rekeyed": item.is_rekeyed,
        "delay": format_time(item.delay),
    }
