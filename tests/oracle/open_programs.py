"""Programs over all that can go on holding until further notice, two to four levels deep, and streams for them.

What goes on holding begins at negations, latches, since, until, aggregates, thresholds and held values, and passes through
joins, metric operators, heads with boxes and loops. Each level of a drawn program takes what the levels before it give.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import strategies as st

from oracle.evaluate import GroundFact
from oracle.programs import Kind
from tidelog.plans.tree.syntax import Interval

CONSTANTS = ("k1", "k2", "k3")
UNARY = ("a", "b", "on", "off")
NUMBERED = "v"
LINKS = "c"

SINGLE = (
    "{p}(X), not {n}(X)",
    "{p}(X), not diamondminus{i} {n}(X)",
    "{p}(X), not diamondplus{i} {n}(X)",
    "diamondminus{u} {p}(X), not {n}(X)",
    "not {n}(X) since {p}(X)",
    "not {n}(X) since {p}(X), {q}(X)",
    "not {n}(X) since{u} {p}(X)",
    "{p}(X) since{u} {q}(X)",
    "not {n}(X) until{i} {p}(X)",
    "{p}(X) until{i} {q}(X)",
    "diamondminus{u} {p}(X) since{u} {p}(X)",
    "boxminus{i} {p}(X) since{u} {q}(X)",
    "diamondminus{u} {p}(X) until{i} {q}(X)",
    "{p}(X), {q}(X)",
    "diamondminus{u} {p}(X)",
    "boxminus{i} {p}(X)",
    "diamondplus{i} {p}(X)",
    "boxplus{i} {p}(X)",
    "boxminus{i} not {n}(X), {p}(X)",
)
"""Bodies whose only variable is X, so that each constant has answers of its own."""
COUNTED = (
    "count() over {p}(X) in [{w}] by X >= {k}",
    "{p}(X), not count() over {q}(X) in [{w}] by X >= {k}",
    "N = count() over {p}(X) in [{w}] by X, N < {k}",
    "latest v(X,N) by X in [{w}], N > {k}",
    "{p}(X), latest v(X,N) by X in [{w}], N < {k}",
    "sum(N) over (v(X,N), N >= 0) in [{w}] by X >= {k}",
    "N = max(M) over v(X,M) in [{w}] by X, N <= {k}",
)
"""Bodies that count and hold, on the integer timeline."""
LINKED = (
    "{p}(Y), c(Y,X)",
    "{p}(Y), c(Y,X), not {n}(X)",
    "not {n}(Y) since{u} c(Y,X)",
    "not {n}(X) since{u} c(_,X)",
    "not {n}(X) since{u} c(Y,X), {p}(Y)",
    "{p}(Y) since{u} c(Y,X)",
    "not {n}(X) until{i} c(Y,X), {p}(Y)",
    "c(Y,X), not {n}(Y)",
    "{p}(X), not c(_,X)",
    "dev(X), not {n}(X)",
    "not {n}(X) since{u} dev(X)",
    "{p}(X) since{u} {q}(X), dev(X)",
)
"""Bodies that join constants, or look at those that are there always."""
LOOPS = ("{h}(X) :- {h}(Y), c(Y,X).", "{h}(X) :- {h}(Y), c(Y,X), not {n}(X).", "{h}(X) :- {h}(Y), {p}(Y), c(Y,X).")


@st.composite
def _metric(draw: st.DrawFn, kind: Kind, *, unbounded: bool) -> str:
    """An interval behind an operator; now and then none, or one without an end, where that is allowed."""
    choice = draw(st.integers(0, 5)) if unbounded else 9
    if choice == 0:
        return ""
    low = draw(st.integers(0, 3))
    if choice == 1:
        return f"[{low},inf)"
    high = low + draw(st.integers(0, 5))
    if kind == "rational" and low < high:
        return f"{draw(st.sampled_from('[('))}{low},{high}{draw(st.sampled_from('])'))}"
    return f"[{low},{high}]"


@st.composite
def open_programs(draw: st.DrawFn, kind: Kind, *, single: bool = False, levels: int = 4) -> str:
    """The text of a program; if `single`, X is the only variable of its rules, beside what is counted and held."""
    bodies = [*SINGLE, *(COUNTED if kind == "integer" else ()), *(() if single else LINKED)]
    rules = [f"timeline {kind}."]
    if not single:
        rules += [f"dev({name})." for name in draw(st.lists(st.sampled_from(CONSTANTS), unique=True, max_size=3))]
    known: list[str] = []
    for level in range(draw(st.integers(2, levels))):
        head = f"q{level}"

        def source(*others: str, known: Sequence[str] = tuple(known)) -> str:
            return draw(st.sampled_from([*known, *known, *UNARY, *others]))

        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            body = draw(st.sampled_from(bodies)).format(
                p=source(),
                q=source(),
                n=source(),
                i=draw(_metric(kind, unbounded=False)),
                u=draw(_metric(kind, unbounded=True)),
                w=draw(st.integers(0, 6)),
                k=draw(st.integers(1, 3)),
            )
            box = draw(st.sampled_from(["", "", "", "", "boxplus", "boxminus"]))
            box += draw(_metric(kind, unbounded=False)) if box else ""
            rules.append(f"{box} {head}(X) :- {body}.".strip())
        if not single and draw(st.integers(0, 3)) == 0:
            rules.append(draw(st.sampled_from(LOOPS)).format(h=head, n=source(), p=source()))
        known.append(head)
    outputs = sorted({*draw(st.lists(st.sampled_from(known), max_size=2)), known[-1]})
    return "\n".join([*rules, f"output {', '.join(outputs)}."])


@st.composite
def open_streams(
    draw: st.DrawFn, kind: Kind, *, size: int = 12, last: int = 20, names: Sequence[str] = CONSTANTS, links: bool = True
) -> list[GroundFact]:
    """Facts in the order of their begin: points mostly, so that what follows from them begins and ends often."""
    facts: list[GroundFact] = []
    predicates = [*UNARY, *UNARY, *([LINKS] if links else []), *([NUMBERED] if kind == "integer" else [])]
    name = st.sampled_from(names)
    for _ in range(draw(st.integers(2, size))):
        predicate = draw(st.sampled_from(predicates))
        row: tuple[str | int, ...] = (draw(name),)
        if predicate == LINKS:
            row = (draw(name), draw(name))
        elif predicate == NUMBERED:
            row = (*row, draw(st.integers(0, 3)))
        facts.append((predicate, row, draw(_times(kind, last))))
    return sorted(facts, key=lambda fact: (fact[2].low, fact[2].left_open))


@st.composite
def _times(draw: st.DrawFn, kind: Kind, last: int) -> Interval:
    begin = Fraction(draw(st.integers(0, last)))
    length = draw(st.sampled_from([0, 0, 0, 1, 2, 5]))
    if kind == "rational":
        begin += draw(st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 2)]))
        if length:
            return Interval(begin, begin + length, draw(st.booleans()), draw(st.booleans()))
    return Interval(begin, begin + length)
