"""A test kit for connectors, for pytest: what a gateway relies on, tried with any source or sink, on trio and asyncio.

Derive a class from `SinkKit` or `SourceKit`, and give it a fixture `bench`: the other side of the wire, as the kit asks for
it (`SinkBench`, `SourceBench`). Each inherited test says one property. Where a wire cannot have one, name it in `cannot`,
with the reason, which pytest then shows as skipped. `docs/howto/write-a-connector.md` has an example.
"""

from typing import TYPE_CHECKING

from tidelog.plans.lazy import exports

if TYPE_CHECKING:
    from tidelog.testing.connectors.benches import PLAN, POISON, Arrival, SinkBench, SourceBench, alarm, number_in
    from tidelog.testing.connectors.driving import deliver, until
    from tidelog.testing.connectors.sink_kit import SinkKit
    from tidelog.testing.connectors.source_kit import SourceKit

__all__ = [
    "PLAN",
    "POISON",
    "Arrival",
    "SinkBench",
    "SinkKit",
    "SourceBench",
    "SourceKit",
    "alarm",
    "deliver",
    "number_in",
    "until",
]

_HOMES = {
    "benches": ("PLAN", "POISON", "Arrival", "SinkBench", "SourceBench", "alarm", "number_in"),
    "driving": ("deliver", "until"),
    "sink_kit": ("SinkKit",),
    "source_kit": ("SourceKit",),
}

if not TYPE_CHECKING:  # a checker would take it that every name is there
    __getattr__, __dir__ = exports(__name__, _HOMES)
