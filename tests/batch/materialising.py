"""Materialising in tests: a program and facts as text, what holds as sorted text."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.connectors.formats.text.decoder import TextDecoder
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record, format_record
from tidelog.plans.data.times import TimeLike
from tidelog.plans.language.parser import parse
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.batch.strategies import StrategyName

STRATEGIES: tuple[StrategyName, ...] = ("naive", "seminaive", "optimised")


def plan_of(text: str) -> BatchPlan:
    return compile_batch(parse(text))


def records(plan: BatchPlan, facts: Iterable[str]) -> list[Record]:
    """Facts such as `p(a)@[1,2)`, encoded."""
    batch = TextDecoder(plan.schema, "facts").decode([fact.encode() for fact in facts], 1)
    assert not batch.rejected
    return batch.records


def loaded(
    text: str, facts: Iterable[str], strategy: StrategyName = "seminaive", until: TimeLike | None = None
) -> Materialisation:
    """A materialisation with these facts, before its first round."""
    plan = plan_of(text)
    done = Materialisation(plan, strategy, until)
    done.load(records(plan, facts))
    return done


def shown(done: Materialisation, *predicates: str) -> list[str]:
    """What holds, sorted by text: of these predicates, or all."""
    found = (record for record in done.facts() if not predicates or record[0] in predicates)
    return sorted(format_record(record, done.plan.timeline) for record in found)


def derived(text: str, facts: Iterable[str], *predicates: str, until: TimeLike | None = None) -> list[str]:
    """What holds in the end; all strategies agree on it."""
    found = []
    for strategy in STRATEGIES:
        done = loaded(text, facts, strategy, until)
        done.run()
        found.append(shown(done, *predicates))
    assert found[0] == found[1] == found[2]
    return found[0]
