"""Answers and their partial answers as plain data, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidelog.operators.ask.pending.answers import Query
from tidelog.operators.ask.premises.partials import Answer, Partial, Thread
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.questions import GroundLiteral, Open


def save_answers(answers: Iterable[Iterable[Answer]]) -> list[dict[str, Any]]:
    """Answers as plain data, with what supports them."""
    found = [answer for some in answers for answer in some]
    numbers = {partial: i for i, partial in enumerate(partial for answer in found for partial in answer.supports)}
    return [_save_answer(answer, numbers) for answer in found]


def _save_answer(answer: Answer, numbers: Mapping[Partial, int]) -> dict[str, Any]:
    return {
        "query": answer.query,
        "columns": list(answer.columns),
        "flags": [answer.certain, answer.told, answer.is_asked, answer.warned],
        "failed": None if answer.failed is None else _save_literal(answer.failed),
        "lost": None if answer.lost is None else _save_literal(answer.lost),
        "rank": list(answer.rank),
        "proofs": [[_save_literal(literal) for literal in proof] for proof in answer.proofs],
        "threads": [_save_thread(answer, thread) for thread in _threads(answer)],
        "supports": [_save_partial(partial, numbers) for partial in answer.supports],
    }


def load_answers(data: Sequence[Mapping[str, Any]], queries: Mapping[str, Query]) -> list[Answer]:
    """The answers that were saved."""
    answers = [_load_answer(item, queries) for item in data]
    partials = [partial for answer in answers for partial in answer.supports]
    parents = [parent for item in data for *_, parent in item["supports"]]
    for partial, parent in zip(partials, parents, strict=True):
        partial.parent = None if parent is None else partials[parent]
    return answers


def _load_answer(data: Mapping[str, Any], queries: Mapping[str, Query]) -> Answer:
    answer = Answer(data["query"], tuple(data["columns"]))
    answer.certain, answer.told, answer.is_asked, answer.warned = data["flags"]
    answer.rank = tuple(data["rank"])
    answer.failed = None if data["failed"] is None else _load_literal(data["failed"])
    answer.lost = None if data.get("lost") is None else _load_literal(data["lost"])  # of before version 10 it is unknown
    answer.proofs = [tuple(map(_load_literal, proof)) for proof in data["proofs"]]
    patterns = queries[answer.query].patterns
    threads = [_load_thread(answer, *item) for item in data["threads"]]
    for number, binding, sets, told, stands, _ in data["supports"]:
        missing, pending, watched = (int(bits, 16) for bits in sets)
        partial = Partial(patterns[number], list(binding), missing, pending, answer)
        partial.watched = watched
        partial.told = None if told is None else int(told, 16)
        for place in stands:
            partial.enter(threads[place])
        answer.supports[partial] = None
    return answer


def _threads(answer: Answer) -> list[Thread]:
    return list(dict.fromkeys(thread for partial in answer.supports for thread in partial.threads))


def _save_thread(answer: Answer, thread: Thread) -> list[Any]:
    facts = next((facts for facts, other in answer.threads.items() if other is thread), None)
    return [None if facts is None else [*map(_save_literal, facts)], thread.told, thread.filled]


def _load_thread(answer: Answer, facts: Iterable[Sequence[Any]] | None, told: bool, filled: bool) -> Thread:
    thread = Thread()
    thread.told, thread.filled = told, filled
    if facts is not None:
        answer.threads[frozenset(map(_load_literal, facts))] = thread
    return thread


def _save_partial(partial: Partial, numbers: Mapping[Partial, int]) -> list[Any]:
    """Sets are hexadecimal text: they may have more bits than a number of MessagePack."""
    sets = [f"{bits:x}" for bits in (partial.missing, partial.pending, partial.watched)]
    told = None if partial.told is None else f"{partial.told:x}"
    parent = partial.parent
    while parent is not None and not parent.alive:
        parent = parent.parent
    number = None if parent is None else numbers[parent]
    threads = _threads(partial.answer)
    stands = [threads.index(thread) for thread in partial.threads]
    return [partial.pattern.number, list(partial.binding), sets, told, stands, number]


def save_batches(batches: Iterable[tuple[Sequence[Record], int]]) -> list[list[Any]]:
    """Facts that wait for the stream's start as plain data, each batch with its watermark."""
    return [[[[name, list(row), lo, hi] for name, row, lo, hi in batch], watermark] for batch, watermark in batches]


def load_batches(data: Iterable[Sequence[Any]]) -> list[tuple[list[Record], int]]:
    """The facts that were saved."""
    return [([(name, tuple(row), lo, hi) for name, row, lo, hi in batch], watermark) for batch, watermark in data]


def _save_literal(literal: GroundLiteral) -> list[Any]:
    terms = [_save_term(term) for term in (*literal.arguments, literal.time)]
    return [literal.predicate, terms, literal.negated, literal.shown, _save_term(literal.until)]


def _save_term(term: Any) -> Any:
    return [term.name, term.offset] if isinstance(term, Open) else term


def _load_literal(data: Sequence[Any]) -> GroundLiteral:
    predicate, terms, negated, shown, until = data
    *arguments, time = (Open(*term) if isinstance(term, list | tuple) else term for term in terms)
    last = Open(*until) if isinstance(until, list | tuple) else until
    return GroundLiteral(predicate, tuple(arguments), time, negated, shown, last)
