"""Many numbers read by one call: of JSON, which has fewer ways to write them than data may use."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidelog.plans.data.times import TimeReader

_decode_numbers = msgspec.json.Decoder(list[int | float]).decode
_decode_whole = msgspec.json.Decoder(list[int]).decode


def read_numbers(texts: Sequence[str]) -> list[int | float] | None:
    """The numbers that texts without commas stand for; None unless all of them are numbers of JSON.

    What they stand for may not be canonical, and a float may have lost digits where it is a whole number.

    >>> read_numbers(["1", "2.50"]), read_numbers(["1", "+2"])
    ([1, 2.5], None)
    """
    try:
        numbers = _decode_numbers(f"[{','.join(texts)}]")
    except msgspec.MsgspecError:
        return None
    return numbers if len(numbers) == len(texts) else None


class WholeTimes:
    """Times that are whole numbers, as points; None where one of them has to be looked at by itself.

    >>> from tidelog.plans.data.timeline import Timeline
    >>> times = WholeTimes(TimeReader(Timeline("integer")))
    >>> times.read(b"17,18", 2), times.read(b"17,1.5", 2)
    ([17, 18], None)
    """

    def __init__(self, reader: TimeReader) -> None:
        self._scale, self._most = reader.whole

    def read(self, listed: bytes, count: int) -> list[int] | None:
        """The points of so many times between commas."""
        try:
            times = _decode_whole(b"[%b]" % listed)
        except msgspec.MsgspecError:
            return None
        return self.encode(times) if len(times) == count else None

    def encode(self, times: list[int]) -> list[int] | None:
        """The points of these times, of which there is one at least."""
        if min(times) < 0 or max(times) > self._most:
            return None
        return times if self._scale == 1 else [time * self._scale for time in times]
