"""Messages drawn for ports that take notices: told at any moment that the contract of a channel allows.

For each row of a port runs are drawn: when it holds, and how that is told. A run is a fact, or it begins to stand and ends;
it may be told long before it begins, or at the last moment; it may have been expected to begin later, and part of it may
be told as a fact beside that. Ports are known to different times, for each lags as it likes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import NamedTuple

from hypothesis import strategies as st

from operators.driving import Points
from operators.telling import Message, said
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS

END = 50
"""Nothing that is drawn holds behind this."""


class Mistake(NamedTuple):
    """A run was told to begin so much later than it does, and that it does not; each so many messages before the last."""

    later: int
    begun_sooner: int
    ended_sooner: int


class Run(NamedTuple):
    """A range over which a row holds, after a gap behind the last one; how it is told, and how many messages before the last
    in which its begin, and its end, can be told. One that has no length begins to stand, and turns out to hold nowhere."""

    gap: int
    length: int
    stands: bool = False
    begun_sooner: int = 0
    ended_sooner: int = 0
    mistake: Mistake | None = None
    beside: tuple[int, int] | None = None  # a part of it that is told as a fact, too: its begin in the run, and its length


class Told(NamedTuple):
    """A message at a port, and how far this is known behind it."""

    port: int
    message: Message
    known: int


@dataclass
class Channel:
    """All that comes at one port: the times at which its rows hold, and the messages, each with what is known behind it."""

    runs: Mapping[Row, Sequence[Run]]
    cuts: Sequence[int]
    times: Points = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._before = [NEG, *self.cuts[:-1]]
        self.messages += [said() for _ in self.cuts]
        for row, runs in self.runs.items():
            self._tell_row(row, runs)

    def repeats(self) -> bool:
        """Whether some of what is told by notices is told as facts, too, or some facts twice."""
        return any(run.beside for runs in self.runs.values() for run in runs)

    def _tell_row(self, row: Row, runs: Sequence[Run]) -> None:
        time = first = 0  # `first` is the message that told of the end of what stood before
        for run in runs:
            lo, hi = time + run.gap, time + run.gap + run.length - 1
            time = hi + 1
            if hi > END:
                break
            if run.mistake is not None:
                later, *sooner = run.mistake
                first = self._stand(row, (lo + later, lo + later - 1), first, sooner) or first
            stood = self._stand(row, (lo, hi), first, (run.begun_sooner, run.ended_sooner)) if run.stands else None
            first = stood or first
            if run.length:
                self.times.setdefault(row, set()).update(range(lo, time))
                if stood is None:
                    self._tell_fact(row, lo, hi, run.begun_sooner)
                if run.beside is not None:
                    begin = min(lo + run.beside[0], hi)
                    self._tell_fact(row, begin, min(begin + run.beside[1], hi), run.ended_sooner)

    def _tell_fact(self, row: Row, lo: int, hi: int, sooner: int) -> None:
        self.messages[max(self._last_before(lo) - sooner, 0)].facts.append((row, lo, hi))

    def _stand(self, row: Row, span: tuple[int, int], first: int, sooner: Sequence[int]) -> int | None:
        """Let a row stand; returns the message that tells of its end, or None where no two messages can tell of it."""
        lo, hi = span
        last, last_ended = self._last_before(lo), self._last_before(hi + 1)
        begun = max(last - sooner[0], first)
        ended = max(last_ended - sooner[1], begun + 1)
        if begun > last or ended > last_ended:
            return None
        self.messages[begun].begun[row] = lo
        self.messages[ended].ended.append((row, lo, hi))
        return ended

    def _last_before(self, time: int) -> int:
        """The last message before which a port is not known up to a time."""
        return bisect_right(self._before, time - 1) - 1


def in_turn(channels: Sequence[Channel], lags: Sequence[int]) -> list[Told]:
    """The messages of all ports, of each so much later than it could be."""
    told = [
        (known + lag, Told(port, message, known))
        for port, (channel, lag) in enumerate(zip(channels, lags, strict=True))
        for message, known in zip(channel.messages, channel.cuts, strict=True)
    ]
    return [what for _, what in sorted(told, key=lambda item: item[0])]


# --- what is drawn ------------------------------------------------------------------------------------------------------

SPANS = sorted(product([1, 0, 2, 4], [1, 2, 3, 20, 0]), key=lambda span: abs(span[0] - 1) + abs(span[1] - 1))
MANNERS = [(stands, begun, ended) for begun in (0, 0, 1, 4) for ended in (0, 1, 3) for stands in (False, True, True)]
MISTAKES = [Mistake(later, begun, ended) for later in (0, 1, 5) for begun in (0, 1, 4) for ended in (0, 1)]
PARTS = [(begin, length) for begin in (0, 1, 3) for length in (0, 2, 9)]
EXTRAS: list[tuple[Mistake | None, tuple[int, int] | None]] = [(mistake, None) for mistake in MISTAKES]


def rows_and_runs(columns: int, constants: Sequence[int], repeats: bool) -> st.SearchStrategy[dict[Row, list[Run]]]:
    """Rows that have so many columns, and their runs; `repeats` has facts come beside what they are part of."""
    extras = EXTRAS + [(None, part) for part in PARTS] * 2 * repeats
    options = st.tuples(
        st.sampled_from(SPANS), st.sampled_from(MANNERS), st.sampled_from([(None, None)] * 3 * len(extras) + extras)
    )
    run = options.map(lambda drawn: Run(*drawn[0], *drawn[1], *drawn[2]))
    row = st.sampled_from(sorted(product(constants, repeat=columns)))
    return st.dictionaries(row, st.lists(run, min_size=1, max_size=9), min_size=1, max_size=3)


BLINKING = st.dictionaries(  # one row that stands again and again, now and then for long
    st.just((1,)),
    st.lists(
        st.builds(
            Run,
            gap=st.sampled_from([1, 2]),
            length=st.sampled_from([1, 2, 12]),
            stands=st.just(True),
            begun_sooner=st.just(0),
            ended_sooner=st.sampled_from([0, 1, 2]),
            mistake=st.none(),
            beside=st.none(),
        ),
        min_size=2,
        max_size=9,
    ),
    min_size=1,
)

ROWS = {  # made once: Hypothesis takes its time to look at a strategy
    (columns, count, repeats): rows_and_runs(columns, range(1, count + 1), repeats)
    for columns in (1, 2)
    for count in (1, 2, 3)
    for repeats in (False, True)
}
STEPS = st.lists(st.sampled_from([1, 2, 3, 0, 5]), max_size=24)
LAGS = st.sampled_from([0, 2, 4, 8])
COUNTS = st.sampled_from([1, 1, 2, 3])


@st.composite
def told_at(draw: st.DrawFn, columns: Sequence[int]) -> tuple[list[Channel], list[Told]]:
    """What comes at ports whose rows have so many columns each, one or two: by port, and in the order in which it comes."""
    repeats, constants = draw(st.booleans()), draw(COUNTS)
    channels = []
    blinks = draw(st.booleans())
    for count in columns:
        runs = draw(BLINKING if blinks and count == 1 else ROWS[count, 1 if blinks else constants, repeats])
        channels.append(Channel(runs, [-1, *accumulate(draw(STEPS), initial=0), POS]))
    return channels, in_turn(channels, [draw(LAGS) for _ in columns])
