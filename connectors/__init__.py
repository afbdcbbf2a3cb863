"""The ends of a flow: sources, sinks, formats and dead letters.

`open_source` and `open_sink` make them from a SPEC of the command line; the classes can be used by themselves.
"""

from typing import TYPE_CHECKING

from tidelog.plans.lazy import exports

if TYPE_CHECKING:
    from tidelog.connectors.acceptor import ClientLimits
    from tidelog.connectors.addresses import TcpAddress, UnixAddress
    from tidelog.connectors.background import load_facts
    from tidelog.connectors.batch_files import BatchLoader
    from tidelog.connectors.csv_decoder import CsvDecoder
    from tidelog.connectors.dead_letters import DeadLetterWriter
    from tidelog.connectors.decoding import Decoder
    from tidelog.connectors.file_sink import FileSink
    from tidelog.connectors.file_source import FileSource
    from tidelog.connectors.formatting import Encoder
    from tidelog.connectors.json_decoder import JsonDecoder
    from tidelog.connectors.json_encoder import JsonEncoder
    from tidelog.connectors.listener_sink import ListenerSink
    from tidelog.connectors.listener_source import ListenerSource
    from tidelog.connectors.memory import MemorySink, MemorySource, PushSource
    from tidelog.connectors.modbus import ModbusDevice
    from tidelog.connectors.opcua import OpcUaServer
    from tidelog.connectors.socket_sink import SocketSink
    from tidelog.connectors.socket_source import SocketSource
    from tidelog.connectors.spec import open_sink, open_source, parse_spec
    from tidelog.connectors.stdin_source import StdinSource
    from tidelog.connectors.stdout_sink import StdoutSink
    from tidelog.connectors.text_decoder import TextDecoder
    from tidelog.connectors.text_encoder import TextEncoder

__all__ = [
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
    "ModbusDevice",
    "OpcUaServer",
    "PushSource",
    "SocketSink",
    "SocketSource",
    "StdinSource",
    "StdoutSink",
    "TcpAddress",
    "TextDecoder",
    "TextEncoder",
    "UnixAddress",
    "load_facts",
    "open_sink",
    "open_source",
    "parse_spec",
]

_HOMES = {
    "acceptor": ("ClientLimits",),
    "addresses": ("TcpAddress", "UnixAddress"),
    "background": ("load_facts",),
    "batch_files": ("BatchLoader",),
    "csv_decoder": ("CsvDecoder",),
    "dead_letters": ("DeadLetterWriter",),
    "decoding": ("Decoder",),
    "file_sink": ("FileSink",),
    "file_source": ("FileSource",),
    "formatting": ("Encoder",),
    "json_decoder": ("JsonDecoder",),
    "json_encoder": ("JsonEncoder",),
    "listener_sink": ("ListenerSink",),
    "listener_source": ("ListenerSource",),
    "memory": ("MemorySink", "MemorySource", "PushSource"),
    "modbus": ("ModbusDevice",),
    "opcua": ("OpcUaServer",),
    "socket_sink": ("SocketSink",),
    "socket_source": ("SocketSource",),
    "spec": ("open_sink", "open_source", "parse_spec"),
    "stdin_source": ("StdinSource",),
    "stdout_sink": ("StdoutSink",),
    "text_decoder": ("TextDecoder",),
    "text_encoder": ("TextEncoder",),
}

if not TYPE_CHECKING:  # a checker would take it that every name is there
    __getattr__, __dir__ = exports(__name__, _HOMES)
