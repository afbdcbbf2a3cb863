"""Why an answer holds, over the last facts of a run: what is still known without a journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.plans.errors import MethodError
from tidelog.plans.facts import Record, format_record
from tidelog.plans.plan import Plan
from tidelog.plans.timeline import NEG
from tidelog.runtime.why.explain import Reason
from tidelog.runtime.why.model import Writing
from tidelog.runtime.why.streamed import explainer_of_stream, telling_all

MAX_FACTS = 20_000
"""How many facts are kept: the last ones."""


@dataclass(frozen=True, slots=True)
class RecentReason:
    """A reason as text and as SVG; `note` says from when on facts are known, where not all are."""

    text: str
    svg: str
    note: str = ""


class RecentFacts:
    """Keeps the last facts that were accepted, `most` of them, and explains answers by them, as `tidelog why` does.

    What an answer rests on may be older: then it cannot be explained, and what is said to be absent is so in what is known.
    `at` writes times.
    """

    def __init__(self, plan: Plan, *, most: int = MAX_FACTS, at: Writing = None) -> None:
        self._plan, self._at = plan, at
        self._whole: Plan | None = None
        self._facts: deque[Record] = deque(maxlen=most)
        self._forgotten = False

    def took(self, records: Sequence[Record]) -> None:
        """These facts were accepted."""
        self._forgotten = self._forgotten or len(self._facts) + len(records) > (self._facts.maxlen or 0)
        self._facts.extend(records)

    def why(self, fact: Record) -> RecentReason:
        """Why a fact holds; MethodError where it does not follow from what is known. Takes as long as the facts need."""
        kept, forgotten = list(self._facts), self._forgotten
        self._whole = self._whole or telling_all(self._plan)
        found = explainer_of_stream(self._whole, kept, self._at).why(fact)
        timeline = self._plan.timeline
        since = timeline.format_point(min((record[2] for record in kept if record[2] > NEG), default=0))
        note = f"by the last {len(kept):,} facts, from {since} on; what is older is not known any more" if forgotten else ""
        if not isinstance(found, Reason):
            known = f": {note}" if note else ""
            raise MethodError(f"`{format_record(fact, timeline)}` does not follow from what is known{known}")
        return RecentReason(found.text(), found.svg(), note)
