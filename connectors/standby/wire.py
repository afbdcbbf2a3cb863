"""What two gateways say to each other over HTTP: what is asked, and what is answered, as MessagePack."""

from __future__ import annotations

from typing import Annotated

import msgspec

from tidelog.connectors.standby.shared_state import Entry, Position

MEDIA_TYPE = "application/vnd.msgpack"
PATH = "/standby/"
"""Below which address states are asked for, by the names of their programs."""
MAX_WAIT = 10.0
"""For how many seconds somebody may wait for a commit at most."""
MAX_ASKED = 4096
"""How many bytes a question has at most."""

Seconds = Annotated[float, msgspec.Meta(ge=0, le=MAX_WAIT)]


class Ask(msgspec.Struct, array_like=True, frozen=True):
    """What is behind this position? The node has all up to it, on its disk, and waits for so many seconds for more."""

    node: str
    position: Position
    wait: Seconds = 0.0


class Reply(msgspec.Struct, array_like=True, frozen=True):
    """The next commits, under which epoch this gateway leads, and the number of its last commit."""

    epoch: int
    last: int
    entries: list[Entry]


encode = msgspec.msgpack.Encoder().encode
read_ask = msgspec.msgpack.Decoder(Ask).decode
read_reply = msgspec.msgpack.Decoder(Reply).decode
