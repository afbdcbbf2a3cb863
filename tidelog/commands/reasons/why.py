"""`tidelog why`: why a fact holds, or why it does not."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tidelog.commands.batch.asked_fact import Once, read_fact
from tidelog.commands.batch.facts import add_iso, go_on, parse_facts, write_lines
from tidelog.commands.given import add_facts, named_facts
from tidelog.commands.numbers import positive
from tidelog.commands.outcome import BAD, DONE, USAGE, add_max_state, say
from tidelog.commands.progress import Progress
from tidelog.commands.reasons.from_journal import check_alone, remembered
from tidelog.commands.reasons.given_facts import GivenFacts, load_any_plan, load_given
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, Schema, format_constant
from tidelog.plans.data.timeline import POS, Timeline
from tidelog.plans.diagnostics.errors import DataError, EndlessError, MethodError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.numerals import shorten
from tidelog.plans.tree.walk import is_constraint
from tidelog.runtime.batch.decisions.relevance import predicates_read, rebuilt, refined
from tidelog.runtime.batch.demand.restricting import Asked, restricted
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.network.state_bound import MAX_STATE_IN_BATCH
from tidelog.runtime.sessions.explained import explainer_of_stream
from tidelog.runtime.why.absent.why_not import WhyNot
from tidelog.runtime.why.evidence.model import Writing
from tidelog.runtime.why.explain import Explainer, Reason
from tidelog.runtime.why.memory import Known

Answer = Reason | WhyNot
_VARIABLE = re.compile(r"[(,]\s*([A-Z][A-Za-z0-9_]*|_)\s*(?=[,)])")
"""What would be a variable in a rule."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="the file of the program")
    add_facts(parser, "those of the program alone")
    parser.add_argument("--fact", required=True, action=Once, metavar="F", help="the fact asked for, such as 'P(a)@[1,2]'")
    parser.add_argument("--format", choices=("text", "json", "svg"), default="text", help="how it is shown (default text)")
    parser.add_argument(
        "--all", nargs="?", type=positive, const=0, metavar="N", help="show also the other rules that derive it, or N of all"
    )
    parser.add_argument(
        "--depth", type=positive, default=1, metavar="N", help="where it does not hold: explain so many levels (default 1)"
    )
    parser.add_argument("--state", metavar="DIR", help="take the facts from the journal of a run")
    add_max_state(parser, MAX_STATE_IN_BATCH)
    add_iso(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the reason; DONE where the fact holds, BAD where it does not, USAGE where the search was stopped."""
    _check(options)
    with Progress() as progress:
        try:
            found = _journaled(options) if options.state is not None else _of_files(options, progress)
            explainer, fact, schema = found
            progress.clear()
            holds = explainer.holds(fact)
            if not holds:
                _note_variables(options.fact)
            write_lines(_shown(explainer, fact, options, _named(fact, schema), holds=holds))
        except (EndlessError, MethodError) as error:
            progress.clear()
            say(f"error: there is no explanation: {error}")
            return USAGE
    return DONE if holds else BAD


def _check(options: argparse.Namespace) -> None:
    if options.state is not None:
        check_alone(options)
    elif options.program is None:
        raise SpecError("expected the file of a program: `tidelog why PROGRAM FACTS… --fact F`")
    elif not named_facts(options):
        say("note: no facts are given, so there are those of the program alone: name files of facts behind it")
    if options.all is not None and options.format == "svg":
        raise SpecError("--all shows text or JSON: an SVG is one picture")


# --- what holds ---------------------------------------------------------------------------------------------------------


def _journaled(options: argparse.Namespace) -> tuple[Known, Record, Schema]:
    """What follows from the journal of a run."""
    plan, session = remembered(options)
    fact, timeline = read_fact(plan.schema, options.fact)
    if timeline != plan.timeline:
        raise SpecError("--fact: the run counts time in coarser steps: ask for times that it can tell apart")
    if fact[0] not in plan.schema.predicates:
        say(f"note: the program has no predicate `{shorten(fact[0])}`{suggest(fact[0], plan.schema.predicates)}")
    return session.memory.known(_writing(plan.timeline, options)), fact, plan.schema


def _of_files(options: argparse.Namespace, progress: Progress) -> tuple[Explainer, Record, Schema]:
    plan = load_any_plan(options.program)
    TimeFormatter(plan.timeline, options.iso)  # a program without a unit is told before its facts are read
    return (*_explained(plan, options, progress), plan.schema)


def _explained(plan: BatchPlan | Plan, options: argparse.Namespace, progress: Progress) -> tuple[Explainer, Record]:
    (predicate, *_), timeline = read_fact(plan.schema, options.fact)
    specs = parse_facts(options)
    if isinstance(plan, Plan):
        given = load_given(plan.schema, specs, progress, is_strict=options.strict)
        _note_unknown(plan, predicate, given)
        fact, _ = read_fact(plan.schema, options.fact)
        return explainer_of_stream(plan, given.records, _writing(plan.timeline, options), options.max_state), fact
    rules = (item for item in plan.program.statements if not is_constraint(item))
    part = rebuilt(plan, rules, predicate)
    schema_of_facts, read = replace(plan.schema, timeline=timeline), predicates_read(part, predicate)
    given = load_given(schema_of_facts, specs, progress, read, is_strict=options.strict)
    _note_unknown(plan, predicate, given)
    part = refined(part, given.timeline)
    fact, _ = read_fact(replace(plan.schema, timeline=given.timeline), options.fact)
    needed = restricted(part, given.records, Asked(*fact[:2]))
    done = _derived(needed.plan, needed.records, fact, options, progress)
    if not done.holds(fact):  # why not is told by what comes close to it, and is not demanded
        done = _derived(part, given.records, fact, options, progress)
    return done.explainer(_writing(part.timeline, options)), fact


def _derived(
    part: BatchPlan, records: Sequence[Record], fact: Record, options: argparse.Namespace, progress: Progress
) -> Materialisation:
    """What follows from facts; MethodError where that has no end, and the fact is not known."""
    done = Materialisation(part, "seminaive", _until(part, fact), options.max_state)
    done.ask(fact)
    done.load(records)
    try:
        go_on(done, progress)
    except (EndlessError, DataError) as error:  # it goes on for ever, or has left the times that the timeline can hold
        if not done.holds(fact):
            raise MethodError(str(error)) from error
    return done


def _writing(timeline: Timeline, options: argparse.Namespace) -> Writing:
    """How times are shown: in certificates always as numbers."""
    return None if options.format == "json" else TimeFormatter(timeline, options.iso).at


def _until(part: BatchPlan, fact: Record) -> str | None:
    """The time beyond which nothing matters, where a recursion that makes values might go on without it."""
    end = fact[3]
    may_go_on = any(component.ending == "unbounded" for component in part.components)
    if end == POS or not may_go_on or not all(component.looks_back for component in part.components):
        return None
    return part.timeline.format_point(end if part.timeline.is_integer else end + (end & 1))


def _note_unknown(plan: BatchPlan | Plan, predicate: str, given: GivenFacts) -> None:
    if predicate not in plan.schema.predicates and predicate not in given.predicates:
        name = f"`{shorten(predicate)}`{suggest(predicate, plan.schema.predicates)}"
        say(f"note: neither the program nor the data has a predicate {name}")


def _note_variables(fact: str) -> None:
    for name in _VARIABLE.findall(fact.partition("@")[0]):
        say(f"note: `{name}` is a constant here, as any name in a fact is: `--fact` asks for one fact, without variables")


# --- what is shown ------------------------------------------------------------------------------------------------------


def _named(fact: Record, schema: Schema) -> str:
    """The arguments of an output that names them, as a line; nothing for any other fact."""
    known = schema.predicates.get(fact[0])
    if known is None or not known.is_named:
        return ""
    arguments = zip(known.fields, fact[1], strict=True)
    return "  " + ", ".join(f"{name}: {format_constant(value)}" for name, value in arguments)


def _shown(
    explainer: Explainer | Known, fact: Record, options: argparse.Namespace, named: str, *, holds: bool
) -> Iterator[str]:
    if not holds:
        yield _as_text(explainer.why(fact, options.depth), options.format, named)
        return
    most = 1 if options.all is None else options.all or None
    for number, reason in enumerate(islice(explainer.reasons(fact), most)):
        if number and options.format == "text":
            yield ""
        yield _as_text(reason, options.format, named)


def _as_text(answer: Answer, format: str, named: str) -> str:
    for note in () if format == "text" else answer.notes:
        say(f"note: {note}")
    if format == "svg":
        return answer.svg().rstrip("\n")
    if format == "text":
        head, end, rest = answer.text().partition("\n")
        return f"{head}\n{named}{end}{rest}" if named else f"{head}{end}{rest}"
    return json.dumps(answer.certificate(), ensure_ascii=False)
