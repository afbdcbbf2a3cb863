"""A query and its answers, by their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidelog.operators.ask.premises.partials import Answer, Columns
from tidelog.operators.ask.premises.patterns import Pattern
from tidelog.operators.ask.premises.rivals import find_rivals
from tidelog.operators.ask.premises.spells import Spells
from tidelog.plans.plan.preconditions import UnfoldedQuery
from tidelog.plans.plan.questions import Question


class Query:
    """A query: its patterns (also those first whose first, or last, premise is decided last), and its answers.

    `has_rivals` where one pattern could need less than another; `has_cases` where a fact that is needed for an answer here
    may hinder it there; `has_ways` where several ways may lead to one answer, or a way may be open in more than its answer.
    """

    def __init__(
        self,
        source: UnfoldedQuery,
        name: str,
        question: Question,
        asked: Mapping[str, tuple[UnfoldedQuery, int]],
        calendars: Mapping[str, Spells],
    ) -> None:
        self.name = name
        self.is_main = not name
        self.patterns = [Pattern(name, i, item, question, asked, calendars) for i, item in enumerate(source.preconditions)]
        self.answers: dict[Columns, Answer] = {}
        self._open: dict[tuple[int, ...], int] = {}  # how many answers there are with these columns open
        find_rivals(self.patterns)
        self.has_rivals = any(pattern.rivals for pattern in self.patterns)
        self.has_cases = False
        self.has_ways = len(self.patterns) > 1 or any(pattern.is_wide for pattern in self.patterns)
        self.by_first = sorted(self.patterns, key=lambda pattern: -pattern.first)
        self.by_last = sorted(self.patterns, key=lambda pattern: -pattern.last)

    @property
    def has_open(self) -> bool:
        """Whether there are answers with open columns."""
        return bool(self._open)

    def keep(self, answer: Answer) -> None:
        """Let an answer be found by its columns."""
        if answer.columns in self.answers:
            return
        self.answers[answer.columns] = answer
        if answer.is_open:
            mask = _open_columns(answer.columns)
            self._open[mask] = self._open.get(mask, 0) + 1

    def remove(self, answer: Answer) -> None:
        """Nothing will be asked or told of it any more."""
        if self.answers.pop(answer.columns, None) is not None and answer.is_open:
            mask = _open_columns(answer.columns)
            self._open[mask] -= 1
            if not self._open[mask]:
                del self._open[mask]

    def covered_by(self, general: Answer) -> Iterator[Answer]:
        """The answers without open columns that an answer with some may become; looks at all, as it is seldom needed."""
        known = [(i, value) for i, value in enumerate(general.columns) if value is not None]
        for columns, answer in self.answers.items():
            if not answer.is_open and all(columns[i] == value for i, value in known):
                yield answer

    def covering(self, columns: Columns) -> Iterator[Answer]:
        """The answers with open columns that may become this one."""
        for mask in self._open:
            general = tuple(None if i in mask else value for i, value in enumerate(columns))
            found = self.answers.get(general)
            if found is not None and general != columns:
                yield found


def mark_cases(queries: Mapping[str, Query]) -> None:
    """Tell each query whether a predicate is needed somewhere behind it, and negated elsewhere."""
    for name, query in queries.items():
        found: set[tuple[str, bool]] = set()
        waiting = [(name, True)]
        while waiting:
            current, is_needed = waiting.pop()
            if (current, is_needed) in found:
                continue
            found.add((current, is_needed))
            for pattern in queries[current].patterns if current in queries else ():
                waiting += [(item.premise.predicate, is_needed) for item in pattern.premises]
                waiting += [(item.premise.predicate, not is_needed) for item in pattern.negated]
        query.has_cases = any((read, not is_needed) in found for read, is_needed in found)


def _open_columns(columns: Columns) -> tuple[int, ...]:
    return tuple(i for i, value in enumerate(columns) if value is None)
