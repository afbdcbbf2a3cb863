"""Hypothesis strategies for what comes: universes of input facts, histories, and the order in which they arrive."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from hypothesis import strategies as st

from oracle.evaluate import program_facts, rules_of
from oracle.grounding import Row, atoms, constants
from oracle.hypothetical_programs import INPUTS, LAST, VALUES
from oracle.worlds import Fact
from tidelog.plans.tree.syntax import Atom, Comparison, Program


def _chance(draw: st.DrawFn, of: int) -> bool:
    """True once in so many draws; shrinking turns it to False."""
    return draw(st.integers(1, of)) == of


@st.composite
def universes(draw: st.DrawFn, program: Program, *, size: int = 14, last: int = LAST) -> list[Fact]:
    """Different facts of the inputs that the program reads, in order of time, over one or two constants.

    One is a constant of the program, if it mentions any, so that its rules apply.
    """
    parts = [part for rule in rules_of(program) for part in rule.body]
    mentioned = sorted(set().union(*map(constants, parts)) & set(VALUES), key=repr)
    numbers = [1, 2, 4] if any(isinstance(part, Comparison) for part in parts) else []
    values = draw(st.lists(st.sampled_from([*mentioned, *numbers, *VALUES]), min_size=1, max_size=2, unique=True))
    rows: dict[int, list[Row]] = {0: [()], 1: [(v,) for v in values], 2: [(v, w) for v in values for w in values]}
    places = [(name, row, time) for name in _names_read(program) for row in rows[INPUTS[name]] for time in range(last + 1)]
    drawn = draw(st.lists(st.sampled_from(places), min_size=min(len(places), size - 2), max_size=size, unique=True))
    return sorted(drawn, key=lambda fact: (fact[2], fact[0], repr(fact[1])))


@dataclass(frozen=True, slots=True)
class Arrival:
    """What comes together: facts, and how far the watermark is then."""

    facts: tuple[Fact, ...]
    watermark: int


def all_facts(program: Program, query: Atom, universe: Sequence[Fact]) -> list[Fact]:
    """Every fact of an input over the constants of program, query and universe and another one, at all times near those."""
    found = constants(query)
    found |= {value for rule in rules_of(program) for part in (rule.head, *rule.body) for value in constants(part)}
    found |= {value for _, row, _ in [*program_facts(program), *universe] for value in row} | {"other"}
    values = sorted(found, key=repr)
    return [
        (name, row, time)
        for name in _names_read(program)
        for row in product(values, repeat=INPUTS[name])
        for time in range(-3, 2 * LAST + 9)  # what waits without an end may come behind the last watermark
    ]


def _names_read(program: Program) -> list[str]:
    parts = [part for rule in rules_of(program) for part in rule.body]
    return sorted({atom.predicate for part in parts for atom, _ in atoms(part)} & set(INPUTS)) or ["p"]


@st.composite
def histories(draw: st.DrawFn, universe: Sequence[Fact], premises: Collection[Collection[Fact]]) -> list[Fact]:
    """Some facts of a universe: those that one or two answers need, now and then but for one of them, and a few others."""
    chosen: set[Fact] = {fact for fact in universe if _chance(draw, 4)}
    wanted = sorted((sorted(facts, key=repr) for facts in premises), key=repr)
    for facts in draw(st.lists(st.sampled_from(wanted), min_size=1, max_size=3)) if wanted else []:
        chosen.update(facts)
        is_short: bool = draw(st.booleans())
        if facts and is_short:
            chosen.discard(draw(st.sampled_from(facts)))
    return [fact for fact in universe if fact in chosen]


def in_order(history: Sequence[Fact], until: int = LAST + 5) -> list[Arrival]:
    """A history as it comes: at each time point all of its facts, and then the watermark is there."""
    times = range(min((fact[2] for fact in history), default=0), until + 1)
    return [Arrival(tuple(fact for fact in history if fact[2] == time), time) for time in times]


@st.composite
def out_of_order(draw: st.DrawFn, history: Sequence[Fact], delays: Mapping[str, int]) -> list[Arrival]:
    """A history in batches, in any order that the watermark and the delays allow."""
    watermarks = sorted(draw(st.lists(st.integers(-1, LAST + 5), min_size=1, max_size=8)))
    batches: list[list[Fact]] = [[] for _ in watermarks]
    for fact in draw(st.permutations(list(history))):
        # what begins at or before the watermark less the delay, as the batches before have left it, comes too late
        late = [fact[2] <= mark - delays.get(fact[0], 0) for mark in watermarks[:-1]]
        batches[draw(st.sampled_from([0, *(i for i, is_late in enumerate(late, 1) if not is_late)]))].append(fact)
    return [Arrival(tuple(batch), mark) for batch, mark in zip(batches, watermarks, strict=True)]


@st.composite
def as_records(draw: st.DrawFn, history: Sequence[Fact]) -> list[tuple[str, Row, int, int]]:
    """The facts of a history as records in the order of their begins, now and then a few in a row over an interval."""
    left, made = set(history), []
    for name, row, time in history:
        if (name, row, time) not in left:
            continue
        last = time
        left.discard((name, row, time))
        while (name, row, last + 1) in left and draw(st.booleans()):
            last += 1
            left.discard((name, row, last))
        made.append((name, row, time, last))
    return made
