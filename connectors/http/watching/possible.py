"""What may follow: the answers to `ask` that are not decided yet, as they were told last."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.tree.syntax import Value

MAX_ANSWERS = 500
"""How many answers are kept: those that were told last."""


class Possible:
    """By question and answer the last line of each that is possible; `version` grows with each change."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, tuple[tuple[str, Value | None], ...]], HypotheticalAnswer] = {}
        self.version = 0

    def __iter__(self) -> Iterator[HypotheticalAnswer]:
        return iter(self._answers.values())

    def add(self, answer: HypotheticalAnswer) -> None:
        """Take a line: what is decided goes, and what is possible stands at the end."""
        key = (answer.query, tuple(answer.answer.items()))
        self._answers.pop(key, None)
        self.version += 1
        if not answer.is_final:
            self._answers[key] = answer
        if len(self._answers) > MAX_ANSWERS:
            del self._answers[next(iter(self._answers))]

    def at(self, present: int) -> list[HypotheticalAnswer]:
        """Those that are still open at this time, the most urgent first."""
        open_still = [item for item in self if item.deadline is None or item.deadline >= present]
        return sorted(open_still, key=lambda item: (item.deadline is None, item.deadline or 0))
