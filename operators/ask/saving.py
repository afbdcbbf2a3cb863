"""Answers and their partial answers as plain data, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.operators.ask.answers import Query
from tidelog.operators.ask.partials import Answer, Partial
from tidelog.plans.questions import GroundLiteral, Open


def save_answer(answer: Answer) -> dict[str, Any]:
    """An answer as plain data, with what supports it."""
    return {
        "query": answer.query,
        "columns": list(answer.columns),
        "flags": [answer.certain, answer.told, answer.filled, answer.is_asked],
        "failed": None if answer.failed is None else _save_literal(answer.failed),
        "proofs": [[_save_literal(literal) for literal in proof] for proof in answer.proofs],
        "supports": [_save_partial(partial) for partial in answer.supports],
    }


def load_answer(data: Mapping[str, Any], queries: Mapping[str, Query]) -> Answer:
    """The answer that was saved."""
    answer = Answer(data["query"], tuple(data["columns"]))
    answer.certain, answer.told, answer.filled, answer.is_asked = data["flags"]
    answer.failed = None if data["failed"] is None else _load_literal(data["failed"])
    answer.proofs = [tuple(map(_load_literal, proof)) for proof in data["proofs"]]
    patterns = queries[answer.query].patterns
    for number, binding, missing, pending, told, hidden in data["supports"]:
        partial = Partial(patterns[number], list(binding), int(missing, 16), int(pending, 16), answer)
        partial.told = None if told is None else (int(told[0], 16), int(told[1], 16))
        partial.hidden = hidden
        answer.has_hidden |= hidden
        answer.supports[partial] = None
    return answer


def _save_partial(partial: Partial) -> list[Any]:
    told = None if partial.told is None else [f"{bits:x}" for bits in partial.told]
    state = [partial.pattern.number, list(partial.binding), f"{partial.missing:x}", f"{partial.pending:x}"]
    return [*state, told, partial.hidden]  # sets as hexadecimal text: they may have more bits than a number of MessagePack


def _save_literal(literal: GroundLiteral) -> list[Any]:
    terms = [_save_term(term) for term in (*literal.arguments, literal.time)]
    return [literal.predicate, terms, literal.negated, literal.shown]


def _save_term(term: Any) -> Any:
    return [term.name, term.offset] if isinstance(term, Open) else term


def _load_literal(data: Sequence[Any]) -> GroundLiteral:
    predicate, terms, negated, shown = data
    *arguments, time = (Open(*term) if isinstance(term, list | tuple) else term for term in terms)
    return GroundLiteral(predicate, tuple(arguments), time, negated, shown)
