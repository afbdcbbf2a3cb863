"""Programs over rows of up to five columns: one of the shape of a published one, and one that is drawn, with joins.

`NINE` is our own text. It has the shape of the easy iTemporal program that is published with Wang et al. (section 6.4;
github.com/wdimmy/DatalogMTL_Practical_Reasoning, `programs/fig1_right/itemporal_program_E`): nine rules, a shift by one that
recurs through time, ◇⁺ and □⁺ over it, and rules that permute, project and unite what these give. Its facts are as those of
`datasets/fig2/itemporal_E_data_100000`: 920 constants, whole times below 50, two thirds of the facts of five columns.

`wide_program` draws levels of predicates as `random_programs` does, but of one to five columns. A join shares one column.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.batch.drawing import Drawing
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import Timeline

SEED = 1
CONSTANTS, TIMES = 920, 50
LONGEST = 20
FACTS_OF_A_CONSTANT = 20
INPUTS = {"p": 5, "q": 3, "r": 2, "s": 1}
RULES, RECURSIVE = 20, 3

NINE = """
timeline rational, resolution 0.5.
wide(A, B, C, D, E) :- diamondplus[1,1] wide(A, B, C, D, E).
soon(A, B, C, D, E) :- diamondplus[0,1] wide(A, B, C, D, E).
turned(A, B, C, D, E) :- soon(C, D, A, E, B).
narrow(A, B, C) :- soon(E, D, C, B, A).
lasting(A, B) :- boxplus[0,1] soon(E, B, A, C, D).
known(A) :- alone(A).
known(A) :- soon(E, B, D, C, A).
told(A) :- known(A).
later(A, B, C) :- diamondplus[1,1] narrow(C, A, B).
"""

_VARIABLES = "ABCDE"
_ALONE = (
    "{one}",
    "diamondminus[{a},{b}] {one}",
    "diamondplus[{a},{b}] {one}",
    "boxminus[{a},{b}] {one}",
    "boxplus[{a},{b}] {one}",
)
_JOINED = ("{one}, {other}", "{one}, diamondminus[{a},{b}] {other}", "{other} since[{a},{b}] {one}")
_RECURSIONS = ("diamondminus[1,1] {head}", "diamondplus[1,2] {head}, diamondminus[0,1] {head}")


def nine_facts(facts: int, timeline: Timeline, seed: int = SEED) -> Iterator[Record]:
    """So many facts for `NINE`: of `wide`, of `alone`, and some that no rule reads."""
    draw = random.Random(seed)
    unit = timeline.encode_point(timeline.resolution) * int(1 / timeline.resolution)
    names = [str(number) for number in range(CONSTANTS)]
    for _ in range(facts):
        name, width = draw.choices((("wide", 5), ("alone", 1), ("spare", 1)), (67, 12, 21))[0]
        begin, end = sorted(draw.sample(range(TIMES), 2))
        yield (name, tuple(draw.choices(names, k=width)), begin * unit, end * unit)


def wide_program(seed: int = SEED) -> str:
    """A program of `RULES` rules over `INPUTS`, `RECURSIVE` of which recur through time."""
    draw = random.Random(seed)
    known = dict(INPUTS)
    lines = ["timeline rational, resolution 0.5."]
    for number in range(RULES - RECURSIVE):
        head = f"d{number}"
        width, body = _body(draw, known)
        lines.append(f"{_atom(head, _VARIABLES[:width])} :- {body}.")
        known[head] = width
    for head in draw.sample([name for name in known if name not in INPUTS], RECURSIVE):
        body = draw.choice(_RECURSIONS).format(head=_atom(head, _VARIABLES[: known[head]]))
        lines.append(f"{_atom(head, _VARIABLES[: known[head]])} :- {body}.")
    return "\n".join(lines)


def _body(draw: random.Random, known: dict[str, int]) -> tuple[int, str]:
    """How many variables the head takes, the first ones in order, and a body that has them."""
    one, other = draw.choices(list(known), k=2)
    left = draw.sample(_VARIABLES[: known[one]], known[one])
    right = [draw.choice(left), *("_" * (known[other] - 1))]
    draw.shuffle(right)
    shapes = _ALONE if draw.random() < 0.6 else _JOINED
    begin = draw.randint(0, 2)
    texts = {"one": _atom(one, left), "other": _atom(other, right)}
    body = draw.choice(shapes).format(**texts, a=begin, b=begin + draw.randint(1, 3))
    return draw.randint(max(1, known[one] - 1), known[one]), body


def _atom(predicate: str, terms: str | list[str]) -> str:
    return f"{predicate}({', '.join(terms)})"


def wide_facts(facts: int, timeline: Timeline, seed: int = SEED) -> Iterator[Record]:
    """So many facts of the inputs; a constant stands in a column of `FACTS_OF_A_CONSTANT` of them, on average."""
    draw = Drawing(timeline, seed)
    names = [f"c{number}" for number in range(max(2, facts // FACTS_OF_A_CONSTANT))]
    inputs = list(INPUTS.items())
    for _ in range(facts):
        name, width = draw.choice(inputs)
        yield (name, tuple(draw.choices(names, k=width)), *draw.interval(LONGEST))
