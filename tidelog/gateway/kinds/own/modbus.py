"""Registers of a device, by Modbus TCP."""

from __future__ import annotations

from tidelog import connectors  # loads what it needs once it is used
from tidelog.connectors.sources.polled import PolledSource, RegisterSettings
from tidelog.connectors.transport.bounds import Port
from tidelog.gateway.kinds.kind import INTERFACE, Place, SourceKind, SourceOpening
from tidelog.gateway.kinds.reaching import reach_host
from tidelog.gateway.kinds.settings import PolledSourceSettings


class ModbusSourceSettings(PolledSourceSettings, frozen=True, kw_only=True, tag="modbus"):
    """Registers of a device."""

    host: str
    port: Port = 502
    register: tuple[RegisterSettings, ...]


def _open(settings: ModbusSourceSettings, opening: SourceOpening) -> PolledSource:
    device = connectors.ModbusDevice(settings.host, settings.port, settings.register)
    return PolledSource(settings.name, device, opening.mapper(settings), every=settings.every)


async def _reach(settings: ModbusSourceSettings, place: Place) -> str:
    return await reach_host(settings.host, settings.port)


SOURCE = SourceKind(interface=INTERFACE, settings=ModbusSourceSettings, open=_open, needs="tidelog[modbus]", reach=_reach)
