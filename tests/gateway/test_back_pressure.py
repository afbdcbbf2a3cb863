"""A broker's client that reads nothing for long, since the engine takes nothing."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from test_mqtt import readings, sink_of, source_of, subscribed, take, until

from brokers import broker
from tidelog.connectors.brokers.mqtt import source as source_module


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_broker_keeps_a_client_that_is_held_back_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the engine takes nothing the broker is pinged, and keeps the connection; then all messages come, each once."""
    monkeypatch.setattr(source_module, "MAX_WAITING", 100)
    with broker(tmp_path) as running:
        async with source_of(running, keep_alive=1) as source, sink_of(running) as sink:
            await subscribed(source)
            await sink.send(readings(0, 1000))
            await until(lambda: len(source._waiting) >= 100)
            await anyio.sleep(10)  # a broker looks every few seconds for those who are silent
            assert await take(source, 1000) == list(range(1000))
            assert source.connection().connections == 1
            assert source.repeated == 0
