"""The ends of a flow: sources, sinks, formats and dead letters.

`open_source` and `open_sink` make them from a SPEC of the command line; the classes can be used by themselves.
"""

from typing import TYPE_CHECKING

from tidelog.plans.lazy import exports

if TYPE_CHECKING:
    from tidelog.connectors.field.modbus.device import ModbusDevices
    from tidelog.connectors.field.opcua.alarm_sink import AlarmSink
    from tidelog.connectors.field.opcua.source import OpcUaSource
    from tidelog.connectors.field.sparkplug.source import SparkplugSource
    from tidelog.connectors.files.background import load_facts
    from tidelog.connectors.files.batch_files import BatchLoader
    from tidelog.connectors.files.calendar_file import load_events
    from tidelog.connectors.formats.csv.decoder import CsvDecoder
    from tidelog.connectors.formats.decoding import Decoder
    from tidelog.connectors.formats.formatting import Encoder
    from tidelog.connectors.formats.json.decoder import JsonDecoder
    from tidelog.connectors.formats.json.encoder import JsonEncoder
    from tidelog.connectors.formats.text.decoder import TextDecoder
    from tidelog.connectors.formats.text.encoder import TextEncoder
    from tidelog.connectors.opening import open_sink, open_source
    from tidelog.connectors.sinks.dead_letters import DeadLetterWriter
    from tidelog.connectors.sinks.file_sink import FileSink
    from tidelog.connectors.sinks.listener_sink import ListenerSink
    from tidelog.connectors.sinks.socket_sink import SocketSink
    from tidelog.connectors.sinks.stdout_sink import StdoutSink
    from tidelog.connectors.sources.file_source import FileSource
    from tidelog.connectors.sources.listener_source import ListenerSource
    from tidelog.connectors.sources.memory import MemorySink, MemorySource, PushSource
    from tidelog.connectors.sources.socket_source import SocketSource
    from tidelog.connectors.sources.stdin_source import StdinSource
    from tidelog.connectors.spec import parse_spec
    from tidelog.connectors.transport.acceptor import ClientLimits
    from tidelog.connectors.transport.addresses import TcpAddress, UnixAddress

__all__ = [
    "AlarmSink",
    "BatchLoader",
    "ClientLimits",
    "CsvDecoder",
    "DeadLetterWriter",
    "Decoder",
    "Encoder",
    "FileSink",
    "FileSource",
    "JsonDecoder",
    "JsonEncoder",
    "ListenerSink",
    "ListenerSource",
    "MemorySink",
    "MemorySource",
    "ModbusDevices",
    "OpcUaSource",
    "PushSource",
    "SocketSink",
    "SocketSource",
    "SparkplugSource",
    "StdinSource",
    "StdoutSink",
    "TcpAddress",
    "TextDecoder",
    "TextEncoder",
    "UnixAddress",
    "load_events",
    "load_facts",
    "open_sink",
    "open_source",
    "parse_spec",
]

_HOMES = {
    "transport.acceptor": ("ClientLimits",),
    "transport.addresses": ("TcpAddress", "UnixAddress"),
    "files.background": ("load_facts",),
    "files.batch_files": ("BatchLoader",),
    "files.calendar_file": ("load_events",),
    "formats.csv.decoder": ("CsvDecoder",),
    "sinks.dead_letters": ("DeadLetterWriter",),
    "formats.decoding": ("Decoder",),
    "sinks.file_sink": ("FileSink",),
    "sources.file_source": ("FileSource",),
    "formats.formatting": ("Encoder",),
    "formats.json.decoder": ("JsonDecoder",),
    "formats.json.encoder": ("JsonEncoder",),
    "sinks.listener_sink": ("ListenerSink",),
    "sources.listener_source": ("ListenerSource",),
    "sources.memory": ("MemorySink", "MemorySource", "PushSource"),
    "field.modbus.device": ("ModbusDevices",),
    "field.opcua.alarm_sink": ("AlarmSink",),
    "field.opcua.source": ("OpcUaSource",),
    "sinks.socket_sink": ("SocketSink",),
    "sources.socket_source": ("SocketSource",),
    "opening": ("open_sink", "open_source"),
    "field.sparkplug.source": ("SparkplugSource",),
    "spec": ("parse_spec",),
    "sources.stdin_source": ("StdinSource",),
    "sinks.stdout_sink": ("StdoutSink",),
    "formats.text.decoder": ("TextDecoder",),
    "formats.text.encoder": ("TextEncoder",),
}

if not TYPE_CHECKING:  # a checker would take it that every name is there
    __getattr__, __dir__ = exports(__name__, _HOMES)
