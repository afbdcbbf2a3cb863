"""Rows drawn for ports that take notices: some of their runs are told as facts, others as what stands until it ends."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from operators.telling import Message, said
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import POS


@dataclass
class LastingRow:
    """The runs of a row, each told as a fact or as what stands, and how many of them have been told."""

    row: Row
    runs: list[tuple[int, int, bool]]
    sent: int = 0
    stands: bool = False  # the last of these, and it has not ended

    def holds(self, time: int) -> bool:
        return any(lo <= time <= hi for lo, hi, _ in self.runs)

    def tell(self, known: int, ahead: int) -> Message:
        """What is told before this is known up to a time; of what is to come then, this much ahead."""
        facts, begun, ended = [], {}, []
        if self.stands and self.runs[self.sent - 1][1] < known + (ahead if known < POS else 0):
            ended.append((self.row, *self.runs[self.sent - 1][:2]))
            self.stands = False
        while not self.stands and self.sent < len(self.runs) and self.runs[self.sent][0] <= known + ahead:
            lo, hi, stands = self.runs[self.sent]
            if stands and hi >= known:
                begun[self.row], self.stands = lo, True
            else:
                facts.append((self.row, lo, hi))
            self.sent += 1
        return said(facts, begun, ended)


@st.composite
def lasting_rows(draw: st.DrawFn, row: Row) -> LastingRow:
    """Up to four runs in 0 … 50."""
    runs, time = [], draw(st.integers(0, 4))
    for _ in range(draw(st.integers(0, 4))):
        end = time + draw(st.sampled_from([0, 0, 1, 3, 6, 9]))
        runs.append((time, end, draw(st.booleans())))
        time = end + draw(st.integers(2, 5))
    return LastingRow(row, runs)
