"""The stream's end: recursion that goes on behind it, here and in other networks, and what is not known then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tidelog.plans.data.timeline import POS
from tidelog.runtime.network.clocked_unit import ClockedUnit
from tidelog.runtime.network.units import StepUnit, Unit


class Ends:
    """Leads a network behind the end of the stream.

    A clocked loop without an end stops there at the present: the last watermark, or a later begin. Loops that are `shared`
    have other rows in other networks. They are followed together (`follow`), and all of them have an end, or none
    (`conclude`). `come_anew` lets all units come as far as they can.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        unit_of: Mapping[str, Unit],
        shared: Collection[int],
        come_anew: Callable[[], None],
    ) -> None:
        self.loops = [unit for unit in units if not isinstance(unit, StepUnit)]
        self._clocked = [unit for unit in self.loops if isinstance(unit, ClockedUnit)]
        self._unit_of = unit_of
        self._shared = {unit.number: unit for unit in self._clocked if unit.number in shared}
        self._come_anew = come_anew
        self._remote: Mapping[str, int] = {}

    def come(self, watermark: int, remote: Mapping[str, int] | None = None) -> None:
        """The stream ends, and had come as far as a watermark.

        Of steps of other networks `remote` has those that are not known for all times then, with up to when they are.
        """
        for unit in self._clocked:
            unit.come_to_watermark(watermark)
        if remote is not None:
            self._remote = remote

    def remote(self, step: str) -> int:
        """Up to when a step of another network is known at most."""
        return self._remote.get(step, POS)

    def known(self, steps: Iterable[str]) -> dict[str, int]:
        """Of some steps here those that are not known for all times though the stream has ended, and up to when."""
        return {name: known for name in steps if (known := self._unit_of[name].frontier(name)) < POS}

    def open_loops(self) -> dict[int, int]:
        """The shared loops of which it is to be found out whether they have an end, with how far the stream has come."""
        return {number: unit.present for number, unit in self._shared.items() if unit.is_open}

    def follow(self, loop: int, present: int) -> Sequence[int]:
        """Follow a shared loop behind what is present anywhere, and tell nothing yet; returns the times that it comes to."""
        self._shared[loop].come_to(present)
        return self._shared[loop].try_on()

    def conclude(self, loop: int, *, is_endless: bool) -> None:
        """It is known whether a shared loop that was followed has an end: tell what follows."""
        self._shared[loop].conclude(is_endless=is_endless)
        self._come_anew()
