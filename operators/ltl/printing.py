"""Formulas as text that LTL solvers read (Spot, BLACK, Aalta), and translations with what they are about as comments."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.operators.ltl.formula import Formula, Kind
from tidelog.operators.ltl.translation import Translation
from tidelog.plans.data.timeline import format_time

_UNARY = frozenset({Kind.NOT, Kind.NEXT, Kind.ALWAYS})
_CONSTANTS = frozenset({Kind.TRUE, Kind.FALSE})


def to_text(formula: Formula) -> str:
    """The formula on one line. Solvers disagree on which of `&`, `|`, `->` binds tighter, so brackets always say it.

    >>> from tidelog.operators.ltl.formula import always, conjunction, following, implication, proposition
    >>> a, b, c = map(proposition, "abc")
    >>> to_text(always(implication(conjunction(a, following(b)), following(c, 2))))
    'G ((a & X b) -> X X c)'
    """
    return "".join(_pieces(formula))


def _pieces(formula: Formula) -> Iterator[str]:
    waiting: list[tuple[Formula, bool] | str] = [(formula, False)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
            continue
        part, is_inside = item
        if part.kind is Kind.PROPOSITION:
            yield part.name
        elif part.kind in _CONSTANTS:
            yield part.kind.value
        elif part.kind in _UNARY:
            yield "!" if part.kind is Kind.NOT else f"{part.kind.value} "
            waiting.append((part.operands[0], True))
        else:
            waiting += reversed(_joined(part, is_inside))


def _joined(part: Formula, is_inside: bool) -> list[tuple[Formula, bool] | str]:
    pieces: list[tuple[Formula, bool] | str] = ["("] if is_inside else []
    for number, operand in enumerate(part.operands):
        if number:
            pieces.append(f" {part.kind.value} ")
        pieces.append((operand, True))
    return [*pieces, ")"] if is_inside else pieces


def _times(translation: Translation) -> str:
    """Which times the first positions are."""
    step = 2 if translation.is_dense else 1
    begin = (translation.begin or 0) // step * translation.unit
    first = "position 0" if translation.begin is None else "position 0, where the data begin,"
    return f"{first} is the time {format_time(begin)}, position {step} the time {format_time(begin + translation.unit)}"


def describe(translation: Translation) -> Iterator[str]:
    """Lines: what the formula and its propositions are, behind `#`, and the formula itself as the last line."""
    formula = translation.formula
    yield f"# size: {formula.size:,} nodes, depth of X: {formula.depth:,}"
    yield "# r0, r1, … tell of the positions 0, 1, 2, …; l0, l1, … of -1, -2, -3, …"
    yield f"# {_times(translation)}"
    if translation.is_dense:
        yield "# even positions are time points, odd ones the gaps between them"
    for copies, name in translation.names.items():
        yield f"# {copies}: {name}"
    yield to_text(formula)
