"""What a question for one fact costs, beside deriving all that its predicate needs: CPU by turns, in one process.

The programs have the shapes of those in the paper on magic sets for DatalogMTL (arXiv 2412.07259), whose data cannot be
fetched here: a rule whose atoms share no variable, as its iTemporal programs have, and ways through a network within
bounded time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import tidelog
from benchmarks.figures import Figure, show
from benchmarks.measure import Job, Run, cpu_by_turns
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.runtime.batch.decisions.entailment import entails
from tidelog.runtime.batch.decisions.relevance import relevant_part
from tidelog.runtime.batch.materialisation import Materialisation

SEED, REPEATS = 1, 3
TARGET = 0.5
"""At most half of what deriving everything costs; most of it is to look through the facts once."""

PRODUCT = "timeline integer. g(X, Y) :- a(X), b(Y), c(Y, Z)."
WAYS = "timeline integer. reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), diamondminus[0,2] link(Z, Y)."


@dataclass(frozen=True, slots=True)
class Question:
    """A program, its facts, and a row that is asked for."""

    name: str
    program: str
    facts: Callable[[], list[Record]]
    asked: tuple[str, tuple[str | int, ...]]


def _product(number: int) -> list[Record]:
    draw = random.Random(SEED)
    names = range(number // 3)
    widths = (("a", 1), ("b", 1), ("c", 2))
    rows = [(name, tuple(draw.choice(names) for _ in range(width))) for name, width in widths for _ in names]
    return [(name, row, 0, 20) for name, row in [*rows, ("a", (1,)), ("b", (2,)), ("c", (2, 3))]]


def _chains() -> list[Record]:
    return [("link", (f"{chain}.{i}", f"{chain}.{i + 1}"), i, i + 5) for chain in range(200) for i in range(50)]


QUESTIONS = (
    Question("a product of parts, 3,000 facts", PRODUCT, partial(_product, 3_000), ("g", (1, 2))),
    Question("a way, 10,000 facts", WAYS, _chains, ("reach", ("7.3", "7.40"))),
)
ALONE = Question("a product of parts, 100,000 facts", PRODUCT, partial(_product, 100_000), ("g", (1, 2)))


def run() -> list[Figure]:
    """Each question beside the whole, and one whose whole would be ten thousand million rows."""
    figures = []
    for question in QUESTIONS:
        plan, facts = _prepared(question)
        asked, whole = cpu_by_turns([_ask(plan, facts, question), _derive(plan, facts, question)], REPEATS)
        figures += [
            Figure("demand", f"{question.name}, asked / all derived", asked / whole, target=TARGET),
            Figure("demand", f"{question.name}, asked", asked * 1e3, "ms"),
        ]
    plan, facts = _prepared(ALONE)
    (alone,) = cpu_by_turns([_ask(plan, facts, ALONE)], REPEATS)
    return [*figures, Figure("demand", f"{ALONE.name}, asked", alone * 1e3, "ms")]


def _prepared(question: Question) -> tuple[BatchPlan, Sequence[Record]]:
    plan = tidelog.compile_batch(question.program)
    return plan, question.facts()


def _ask(plan: BatchPlan, facts: Sequence[Record], question: Question) -> Job:
    name, row = question.asked

    def ask() -> None:
        found = entails(plan, facts, (name, row, 10, 10))
        if found.answer == "undecided":
            raise RuntimeError(found.reason)

    def prepare() -> Run:
        return ask

    return prepare


def _derive(plan: BatchPlan, facts: Sequence[Record], question: Question) -> Job:
    def derive() -> None:
        done = Materialisation(relevant_part(plan, question.asked[0]))
        done.load(facts)
        done.run()

    def prepare() -> Run:
        return derive

    return prepare


if __name__ == "__main__":
    show(run)
