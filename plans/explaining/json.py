"""A program's stages as JSON, with fields that stay as they are."""

from __future__ import annotations

import json

from tidelog.plans.data.timeline import Timeline, format_time
from tidelog.plans.explaining.reports.stage_report import stage_fields
from tidelog.plans.explaining.steps import PortView, StepView, views_of
from tidelog.plans.language.printing import format_formula, format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import Question
from tidelog.plans.stages.stages import stages_of
from tidelog.plans.tree.syntax import Program


def explain_program(program: Program, stage: str) -> str:
    """One JSON object for the stages `text` and `normal`: `program` (its name), `stage`, `statements` (each as text)."""
    return as_json(
        {"program": program.name, "stage": stage, "statements": [format_statement(item) for item in program.statements]}
    )


def explain_json(plan: Plan) -> str:
    """One JSON object for the stage `plan`; times are exact, and so are text: `5/2`, `inf`, `-inf`.

    - `program`, `stage`, `timeline` (`kind`, `resolution`, `unit` in seconds or null, `rounding` if it has one)
    - `steps`, in the order in which they run: `id`, `predicate`, `operator`, `parameters`, `inputs` (`port` from 0, `role`,
      `kind`: step, stream, facts, start, clock or arrivals, `name`), `loop` or null, `delay` and `lead` (how far the
      frontier lies behind, or ahead of, the watermark), `reach` of its `#`-facts or null, `sleeps` (the predicate whose
      absence puts it to sleep, or null), `spared` (ports that are told what is of no use), `shared` (what several joins
      store of what it sends, and is stored once: `columns`, from 0, by which rows are found, null for whole rows, and
      `readers`, each a `step` and a `port`), `fused` (the operators that it is in one), `rule` (normalised) and `source`
      (as written)
    - `tasks`: for each task in which operators run, their steps; sources and sinks have tasks of their own
    - `loops`: `number`, `members`, `entries` (`step`, `port`), `holds`
    - `outputs`: predicate to step; `constraints`: step to rule; `backgrounds`: `predicate`, `path`; `facts`: how many
    - `questions`: `name`, `query`, `inputs` (predicate to delay in ticks), `rules` (times in ticks), `depth` or null
    - `staged`: how it runs as several programs, each split by a key: see `plans/explaining/reports/stage_report.py`
    """
    return as_json({"program": plan.name, "stage": "plan", **plan_fields(plan)})


def as_json(fields: dict[str, object]) -> str:
    """Fields as people read them."""
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def plan_fields(plan: Plan) -> dict[str, object]:
    """The plan's part of the object."""
    return {
        "timeline": _timeline(plan.timeline),
        "steps": [_step(view) for view in views_of(plan)],
        "loops": [
            {
                "number": loop.number,
                "members": list(loop.members),
                "entries": [{"step": step, "port": port} for step, port in loop.entries],
                "holds": list(loop.holds),
            }
            for loop in plan.loops
        ],
        "tasks": [[step.id for step in plan.steps]] if plan.steps else [],
        "outputs": dict(plan.outputs),
        "constraints": {step: format_statement(rule) for step, rule in plan.constraints.items()},
        "backgrounds": [{"predicate": item.predicate, "path": item.path} for item in plan.backgrounds],
        "questions": [_question(question) for question in plan.questions],
        "facts": len(plan.facts),
        "staged": stage_fields(stages_of(plan)),
    }


def _question(question: Question) -> dict[str, object]:
    return {
        "name": question.name,
        "query": format_formula(question.query),
        "inputs": {name: question.delay(name) for name in sorted(question.inputs)},
        "rules": [format_statement(rule) for rule in question.rules],
        "depth": question.depth,
    }


def _timeline(timeline: Timeline) -> dict[str, object]:
    shown: dict[str, object] = {
        "kind": timeline.kind,
        "resolution": format_time(timeline.resolution),
        "unit": None if timeline.unit is None else format_time(timeline.unit),
    }
    return shown if timeline.rounding is None else shown | {"rounding": timeline.rounding}


def _step(view: StepView) -> dict[str, object]:
    return {
        "id": view.id,
        "predicate": view.predicate,
        "operator": view.operator,
        "parameters": view.parameters,
        "inputs": [_port(port) for port in view.inputs],
        "loop": view.loop,
        "delay": format_time(view.delay),
        "lead": format_time(view.lead),
        "reach": None if view.reach is None else format_time(view.reach),
        "sleeps": view.sleeps or None,
        "spared": list(view.spared),
        "shared": [
            {
                "columns": None if store.key is None else list(store.key),
                "readers": [{"step": step, "port": port} for step, port in store.readers],
            }
            for store in view.shared
        ],
        "fused": list(view.fused),
        "rule": view.rule,
        "source": view.source,
    }


def _port(port: PortView) -> dict[str, object]:
    return {"port": port.port, "role": port.role, "kind": port.feed.kind, "name": port.feed.name}
