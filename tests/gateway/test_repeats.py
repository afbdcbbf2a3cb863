"""What a broker sends once more, and how it is known again."""

from __future__ import annotations

from tidelog.connectors.mqtt.source import _Taken


def test_what_a_broker_repeats_is_known_though_it_had_too_much_under_way() -> None:
    """More messages are known again than a position has; the position has the last ones."""
    taken, later = _Taken(3), _Taken(3)
    for mid in range(1, 101):
        taken.add(mid, b"%08d" % mid)
        taken.acknowledge(mid, float(mid))
    assert all(taken.has(mid, b"%08d" % mid) for mid in range(1, 101))
    assert not taken.has(7, b"another!")
    later.load(taken.dump(), 100.0)
    assert [mid for mid in range(1, 101) if later.has(mid, b"%08d" % mid)] == [98, 99, 100]
    taken.forget(51.0)
    assert [mid for mid in range(1, 101) if taken.has(mid, b"%08d" % mid)] == list(range(51, 101))
