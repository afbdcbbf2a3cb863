"""How large the streams are: the papers' sizes, and small ones to see that all runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """What varies: windows, facts a time point, copies of a rule, and for how long each is measured.

    `windows`, `rates`, `copies` are Laser's, but for fewer windows (`copied_windows`) and a thinner stream (`copied_rate`)
    of a join that is copied, and `ticks` time points are measured at a time: what is stored may be swept but once in a
    window's length, and the longest window's share must be in it. `periods`, `batches`, `levels`, `cascade_windows` are
    Laser2's, over `span` time points at most and so many facts of a predicate.
    """

    windows: tuple[int, ...] = (1, 10, 20, 40, 80)
    rates: tuple[int, ...] = (200, 400, 800)
    copies: tuple[int, ...] = (1, 10, 20, 50, 100)
    copied_windows: tuple[int, ...] = (1, 20, 80)
    copied_rate: int = 25
    ticks: int = 80
    few_ticks: int = 20
    fewest_ticks: int = 10
    periods: tuple[int, ...] = (10, 50, 100)
    batches: tuple[int, ...] = (100, 500, 1000)
    levels: tuple[int, ...] = (10, 50, 100)
    cascade_windows: tuple[int, ...] = (10, 20)
    cascade_rate: int = 100
    span: int = 300
    most_facts: int = 200_000
    worst_facts: int = 100_000
    fewest_repeats: int = 2
    repeats: int = 3
    many_repeats: int = 7

    def span_of(self, rate: int, most: int = most_facts) -> int:
        """For how many time points a stream of so many facts a time point runs."""
        return min(self.span, most // rate)


PAPERS = Sizes()
SMOKE = Sizes(
    windows=(1, 4),
    rates=(5, 10),
    copies=(1, 3),
    copied_windows=(1, 4),
    copied_rate=5,
    ticks=2,
    few_ticks=2,
    fewest_ticks=2,
    periods=(10, 12),
    batches=(5, 10),
    levels=(2, 3),
    cascade_rate=5,
    span=40,
    fewest_repeats=1,
    repeats=1,
    many_repeats=1,
)
