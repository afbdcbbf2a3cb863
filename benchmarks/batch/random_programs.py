"""Random recursive programs and data in the manner of iTemporal (Bellomarini, Nissl and Sallinger 2022).

A program is a chain of levels: each derived predicate is defined by one or two rules over the predicates before it, or over
the inputs, and some by one more rule over themselves. A rule is a metric operator over an atom, a join of two, or since or
until; all predicates are unary. Wang et al. (section 6.4) call three such programs easy, medium and hard: here they have
20, 25 and 30 rules, and 2, 4 and 6 of these are recursive.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.batch.drawing import Drawing
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import Timeline

SEED = 1
INPUTS = 6
LONGEST = 20
FACTS_OF_A_CONSTANT = 40
PROGRAMS = {"E": (20, 2), "M": (25, 4), "H": (30, 6)}
"""Of each program: how many rules, and how many of these are recursive."""

_SHAPES = (
    "diamondminus[{a},{b}] {left}(X)",
    "diamondplus[{a},{b}] {left}(X)",
    "boxminus[{a},{b}] {left}(X)",
    "boxplus[{a},{b}] {left}(X)",
    "{left}(X), {right}(X)",
    "{left}(X), boxminus[{a},{b}] {right}(X)",
    "{left}(X), diamondminus[{a},{b}] {right}(X)",
    "{left}(X) since[{a},{b}] {right}(X)",
    "{left}(X) until[{a},{b}] {right}(X)",
)
_RECURSIONS = (
    "diamondminus[{a},{b}] {head}(X), {left}(X)",
    "boxminus[1,2] {head}(X), {left}(X)",
    "{left}(X) since[{a},{b}] {head}(X)",
    "boxplus[1,2] {head}(X)",
)


def random_program(name: str, seed: int = SEED) -> str:
    """One of `PROGRAMS` as text."""
    rules, recursive = PROGRAMS[name]
    draw = random.Random(f"{seed} {name}")
    heads = [f"d{number}" for number in range((rules - recursive) * 2 // 3)]
    known = [f"p{number}" for number in range(INPUTS)]
    lines = []
    for head in heads:
        lines.append(_rule(draw, _SHAPES, head, known))
        known.append(head)
    lines += [_rule(draw, _SHAPES, head, known[:INPUTS]) for head in heads[: rules - recursive - len(heads)]]
    lines += [_rule(draw, _RECURSIONS, head, known[:INPUTS]) for head in draw.sample(heads, recursive)]
    return "timeline rational, resolution 0.5.\n" + "\n".join(lines)


def _rule(draw: random.Random, shapes: tuple[str, ...], head: str, known: list[str]) -> str:
    left, right = draw.sample(known, 2)
    begin = draw.randint(0, 2)
    body = draw.choice(shapes).format(head=head, left=left, right=right, a=begin, b=begin + draw.randint(1, 3))
    return f"{head}(X) :- {body}."


def random_facts(facts: int, timeline: Timeline, seed: int = SEED) -> Iterator[Record]:
    """So many facts of the inputs, at random; a constant has `FACTS_OF_A_CONSTANT` of them on average."""
    draw = Drawing(timeline, seed)
    rows = [(f"c{number}",) for number in range(max(1, facts // FACTS_OF_A_CONSTANT))]
    for _ in range(facts):
        yield (f"p{draw.randrange(INPUTS)}", draw.choice(rows), *draw.interval(LONGEST))
