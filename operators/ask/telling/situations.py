"""Situations: answers that rest on the same evidence and differ in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any
from zlib import crc32

from tidelog.plans.plan.questions import NEVER, GroundLiteral, HypotheticalAnswer
from tidelog.plans.tree.syntax import Value

_Key = tuple[Value | None, ...]
_Tell = Callable[[_Key], HypotheticalAnswer | None]


class Situations:
    """Gives the lines of a situation a group, where it has several answers; `first_only` leaves out all but one of them.

    That is the answer with the earliest deadline; when it is rejected, it is the next one's turn, and once one is certain it
    is nobody's any more. What is certain is always told, and each end of what was told. Answers with open columns are told
    by themselves.
    """

    def __init__(self, first_only: bool) -> None:
        self._first_only = first_only
        self._ends: dict[str, dict[_Key, int]] = {}
        self._group: dict[_Key, str] = {}
        self._shown: set[_Key] = set()
        self._settled: set[str] = set()

    def choose(self, lines: Iterable[HypotheticalAnswer], tell: _Tell) -> list[HypotheticalAnswer]:
        """The lines that are told, with their groups; `tell` makes the line of an answer whose turn it is."""
        found = [(tuple(line.answer.values()), line) for line in lines]
        for key, line in found:
            if line.status == "possible" and None not in key:
                self._enter(key, line)
        if not self._first_only:
            return [self._decided(key, line) for key, line in found]
        told: list[HypotheticalAnswer] = []
        in_turn: set[object] = set()  # what was told because its turn had come is not repeated
        for key, line in found:
            if _content(line) not in in_turn:
                chosen = list(self._choose(key, line, tell))
                in_turn |= {_content(other) for other in chosen if other.answer != line.answer}
                told += chosen
        return told

    def _enter(self, key: _Key, line: HypotheticalAnswer) -> None:
        group = _group_of(key, line)
        if self._group.get(key) != group:
            self._leave(key)
            self._group[key] = group
        self._ends.setdefault(group, {})[key] = NEVER if line.deadline is None else line.deadline

    def _choose(self, key: _Key, line: HypotheticalAnswer, tell: _Tell) -> Iterator[HypotheticalAnswer]:
        """The line, if it is this answer's turn; and that of the next one, if this was its last."""
        group = self._group.get(key)
        if group is None:
            yield line
            return
        is_told = line.status == "certain" or key in self._shown
        if line.status == "possible":
            is_told = is_told or (group not in self._settled and self._first(group) == key)
        shown = self._decided(key, line)
        if is_told:
            self._shown |= {key} if line.status == "possible" else set()
            yield shown
        if line.is_final:
            if line.status == "certain" and group in self._ends:
                self._settled.add(group)
            self._shown.discard(key)
            if group in self._ends and group not in self._settled:
                yield from self._next(group, line.at, tell)

    def _decided(self, key: _Key, line: HypotheticalAnswer) -> HypotheticalAnswer:
        """The line with its group, if there are others in that; a last line leaves it."""
        group = self._group.get(key)
        if group is None:
            return line
        has_group = len(self._ends[group]) > 1 and _group_of(key, line) == group
        if line.is_final:
            self._leave(key)
        return _in_group(line, group) if has_group else line

    def _leave(self, key: _Key) -> None:
        """An answer is decided, or rests on something else."""
        group = self._group.pop(key, None)
        if group is not None:
            del self._ends[group][key]
            if not self._ends[group]:
                del self._ends[group]
                self._settled.discard(group)

    def _first(self, group: str) -> _Key:
        """The answer of a situation that is decided first."""
        return min(self._ends[group].items(), key=lambda item: (item[1], item[0][-1]))[0]

    def _next(self, group: str, at: int | None, tell: _Tell) -> Iterator[HypotheticalAnswer]:
        key = self._first(group)
        line = None if key in self._shown else tell(key)
        if line is not None:
            self._shown.add(key)
            yield replace(line, at=at, group=group if len(self._ends[group]) > 1 else "")

    def snapshot(self) -> list[Any]:
        """What is known, as plain data."""
        ends = [[list(key), group, self._ends[group][key]] for key, group in self._group.items()]
        return [ends, [list(key) for key in self._shown], sorted(self._settled)]

    def restore(self, data: list[Any]) -> None:
        """Continue where a snapshot was taken."""
        ends, shown, settled = data
        for key, group, end in ends:
            self._group[tuple(key)] = group
            self._ends.setdefault(group, {})[tuple(key)] = end
        self._shown, self._settled = {tuple(key) for key in shown}, set(settled)


@lru_cache(4_096)
def _text(literal: GroundLiteral) -> str:
    return str(literal)


def _in_group(line: HypotheticalAnswer, group: str) -> HypotheticalAnswer:
    """The line with a group; `replace` takes several times as long."""
    evidence, hypotheses = line.evidence, line.hypotheses
    told = line.query, line.answer, line.status, evidence, hypotheses, line.at, line.deadline, line.failed, line.where
    return HypotheticalAnswer(*told, group)


def _content(line: HypotheticalAnswer) -> object:
    return tuple(line.answer.values()), line.status, line.evidence, line.hypotheses


def _group_of(key: _Key, line: HypotheticalAnswer) -> str:
    """A name for the facts that speak for an answer and for its values but for the time: the same in each run."""
    return _name(key[:-1], line.evidence)


@lru_cache(256)
def _name(values: _Key, evidence: tuple[GroundLiteral, ...]) -> str:
    facts = sorted(_text(literal) for literal in evidence if not literal.negated)
    return f"{crc32(repr(([*values], facts)).encode()):08x}"
