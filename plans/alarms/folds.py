"""Which open alarm is folded into which: each into the most urgent of its causes, and so into what that one is folded into.

Alarms come and go one by one. What changes is found by going along the causes of those that have changed, and of those that
have these for a cause; how many are folded into one is counted as they come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidelog.plans.alarms.desk import Key, Urgency

Standing = tuple[Urgency, Sequence[Key]]
"""How urgent an open alarm is, and what may be its causes."""


class Folds:
    """A forest: alarms stand below the nearest of their causes. There is no circle: see `Causes.pairs`.

    >>> folds, pump, line = Folds(), ("stopped", ("p",)), ("dry", ("l",))
    >>> sorted(folds.turn({line: ((False, 1, False, 0, "", "l"), [pump])}))
    [('dry', ('l',))]
    >>> sorted(folds.turn({pump: ((False, 0, False, 0, "", "p"), [])}))
    [('dry', ('l',)), ('stopped', ('p',))]
    >>> folds.first(line), folds.below(pump)
    (('stopped', ('p',)), 1)
    """

    def __init__(self) -> None:
        self.urgency: dict[Key, Urgency] = {}
        """Those that are open."""
        self.moved: set[Key] = set()
        """Those whose urgency has changed, until who orders them takes them out."""
        self._causes: dict[Key, tuple[Key, ...]] = {}
        self._effects: dict[Key, set[Key]] = {}
        self._nearest: dict[Key, Key] = {}
        self._under: dict[Key, set[Key]] = {}
        self._weight: dict[Key, int] = {}

    def first(self, key: Key) -> Key | None:
        """What an open alarm is folded into; None where it stands for itself."""
        first, at = None, self._nearest.get(key) if self._nearest else None
        while at is not None:
            first, at = at, self._nearest.get(at)
        return first

    def below(self, key: Key) -> int:
        """How many are folded into an alarm that stands for itself, and into these."""
        return self._weight.get(key, 0) if self._weight else 0

    def causes(self, key: Key) -> tuple[Key, ...]:
        """What may be the causes of an open alarm, open or not."""
        return self._causes.get(key, ()) if self._causes else ()

    def turn(self, news: Mapping[Key, Standing | None]) -> set[Key]:
        """These alarms stand so from now on, or are normal; returns all for which something is different."""
        unsettled, touched, moved = set[Key](), set(news), list[Key]()
        for key, standing in news.items():
            urgency, causes = standing or (None, ())
            if urgency != self.urgency.get(key):
                self.moved.add(key)
                if self._effects:
                    unsettled |= self._effects.get(key, set())
                if urgency is None:
                    del self.urgency[key]
                else:
                    self.urgency[key] = urgency
            before = self._causes.get(key, ()) if self._causes else ()
            if causes or before:
                unsettled.add(key)
                self._rest_on(key, before, tuple(causes))
        for key in unsettled:
            if self._settle(key, touched):
                moved.append(key)
        seen = set[Key]()
        while moved:
            key = moved.pop()
            if key not in seen:
                seen.add(key)
                moved += self._under.get(key, ())
        return touched | seen

    def _rest_on(self, key: Key, before: tuple[Key, ...], causes: tuple[Key, ...]) -> None:
        if causes == before:
            return
        _leave(self._effects, key, before)
        for cause in causes:
            self._effects.setdefault(cause, set()).add(key)
        if causes:
            self._causes[key] = causes
        else:
            del self._causes[key]

    def _settle(self, key: Key, touched: set[Key]) -> bool:
        """Find the nearest cause of an alarm; returns whether that is another one."""
        rank, before = self.urgency, self._nearest.get(key)
        able = [cause for cause in self._causes.get(key, ()) if cause in rank] if key in rank else []
        nearest = min(able, key=rank.__getitem__, default=None)
        if nearest == before:
            return False
        weight = 1 + self._weight.get(key, 0)
        if before is not None:
            _leave(self._under, key, (before,))
            del self._nearest[key]
            self._weigh(before, -weight, touched)
        if nearest is not None:
            self._under.setdefault(nearest, set()).add(key)
            self._nearest[key] = nearest
            self._weigh(nearest, weight, touched)
        return True

    def _weigh(self, key: Key, weight: int, touched: set[Key]) -> None:
        """So many more stand below an alarm, and below what that one stands below."""
        at: Key | None = key
        while at is not None:
            key, found = at, self._weight.get(at, 0) + weight
            if found:
                self._weight[at] = found
            else:
                del self._weight[at]
            at = self._nearest.get(at)
        touched.add(key)


def _leave(groups: dict[Key, set[Key]], key: Key, left: Iterable[Key]) -> None:
    for each in left:
        groups[each].discard(key)
        if not groups[each]:
            del groups[each]
