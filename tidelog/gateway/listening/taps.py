"""What passes: `tidelog gateway --tap NAME` is shown a source's messages and facts, what a step takes and sends, or a sink's
answers, as they come.

A running gateway listens at a Unix-domain socket, for its owner alone. Who connects says a name, and gets JSON lines.
Whoever reads slower than they come misses some, and is told how many: nobody holds up the gateway.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec

from tidelog.connectors.transport.acceptor import Acceptor, ClientLimits
from tidelog.connectors.transport.addresses import UnixAddress
from tidelog.connectors.transport.connection import Connection
from tidelog.gateway.file.settings import GatewaySettings
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.plans.diagnostics.suggestions import suggest

MAX_TAPS = 8
MAX_WAITING = 4 << 20
"""How many bytes wait for one who listens in."""
MAX_PIECE = 1000
"""How much of what passes at once is shown: the rest is counted as missed."""
MAX_NAME = 1000

T = TypeVar("T")


class Taps:
    """Who listens in, by the name of what they listen to. While nobody does, it costs a look into a dictionary.

    `switches` are told that somebody listens in to their name, and that nobody does any more.
    """

    def __init__(self) -> None:
        self._listening: dict[str, list[Tap]] = {}
        self.switches: dict[str, Callable[[bool], None]] = {}

    def is_tapped(self, name: str) -> bool:
        """Whether somebody listens in here."""
        return name in self._listening

    def pass_on(self, name: str, items: Sequence[T], write: Callable[[Sequence[T]], bytes]) -> None:
        """Let those who listen in have these, a line each, which are written only for them."""
        listening = self._listening.get(name)
        if not listening or not items:
            return
        data = write(items[:MAX_PIECE]) if any(tap.has_room for tap in listening) else b""
        for tap in listening:
            tap.pass_on(data, len(items))

    @contextmanager
    def listener(self, name: str) -> Iterator[Tap]:
        """Listen in for the length of a `with` block."""
        tap = Tap()
        self._listening.setdefault(name, []).append(tap)
        self._switch(name)
        try:
            yield tap
        finally:
            self._listening[name].remove(tap)
            if not self._listening[name]:
                del self._listening[name]
                self._switch(name)

    def _switch(self, name: str) -> None:
        if name in self.switches:
            self.switches[name](self.is_tapped(name))


class Tap:
    """One who listens in: what waits for them, up to `MAX_WAITING` bytes, and how many lines they have missed."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._waiting = self._missed = 0
        self._news = anyio.Event()

    @property
    def has_room(self) -> bool:
        """Whether something more may wait."""
        return self._waiting < MAX_WAITING

    def pass_on(self, data: bytes, lines: int) -> None:
        """Let it wait, as far as there is room; `lines` is how many there would be."""
        if data and self.has_room:
            self._note_missed()
            lines -= data.count(b"\n")
            self._add(data)
        self._missed += lines
        self._news.set()

    async def next(self) -> bytes:
        """Wait for what comes next, as lines; where some were missed, a line says so in their place."""
        while not self._pieces and not self._missed:
            self._news = anyio.Event()
            await self._news.wait()
        if not self._pieces:
            self._note_missed()
        data = self._pieces.popleft()
        self._waiting -= len(data)
        return data

    def _note_missed(self) -> None:
        if self._missed:
            self._add(msgspec.json.encode({"missed": self._missed}) + b"\n")
            self._missed = 0

    def _add(self, data: bytes) -> None:
        self._pieces.append(data)
        self._waiting += len(data)


class TapServer:
    """Serves those who listen in, while `async with`; `names` tells what there is to listen to. A name may also be said with
    the `prefix` in front."""

    def __init__(self, path: str, taps: Taps, names: Callable[[], Iterable[str]], prefix: str = "") -> None:
        self._taps, self._names, self._prefix = taps, names, prefix
        self._acceptor = Acceptor(UnixAddress(path), self._serve, ClientLimits(MAX_TAPS))

    async def __aenter__(self) -> TapServer:
        await self._acceptor.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._acceptor.__aexit__(*exc)

    async def _serve(self, connection: Connection, _number: int) -> None:
        """Tell one client what passes. One that goes, at whatever moment, costs nobody else anything."""
        try:
            await self._tell(connection)
        except* (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass

    async def _tell(self, connection: Connection) -> None:
        name = (await _line(connection)).decode("utf-8", "replace")
        known = list(self._names())
        if name not in known and self._prefix:
            name = name.removeprefix(self._prefix)
        if name not in known:
            near = suggest(name, known) or f"; there are {', '.join(known)}"
            await connection.send(msgspec.json.encode({"error": f"there is no `{name}` to listen to{near}"}) + b"\n")
            return
        with self._taps.listener(name) as tap:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_wait_gone, connection, tasks.cancel_scope)
                while True:
                    await connection.send(await tap.next())


async def _wait_gone(connection: Connection, scope: anyio.CancelScope) -> None:
    """Stop once the client has nothing more to say, which is when it goes."""
    try:
        while True:
            await connection.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        scope.cancel()


async def _line(connection: Connection) -> bytes:
    data = b""
    while b"\n" not in data and len(data) < MAX_NAME:
        data += await connection.receive(MAX_NAME)
    return data.partition(b"\n")[0]


async def listen_in(path: str, name: str, write: Callable[[str], None]) -> None:
    """Write what passes in a running gateway, until it ends. ConnectorError where none runs, or it knows no such name."""
    try:
        stream = await UnixAddress(path).connect()
    except OSError as error:
        raise ConnectorError(f"no gateway runs with this file (`{path}`: {error.strerror or error})") from None
    async with stream:
        await stream.send(f"{name}\n".encode())
        rest = b""
        try:
            while True:
                *lines, rest = (rest + await stream.receive()).split(b"\n")
                _check(lines)
                write("".join([line.decode("utf-8", "replace") + "\n" for line in lines]))
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return


def _check(lines: Sequence[bytes]) -> None:
    """Raise what the gateway says is wrong."""
    if lines and lines[0].startswith(b'{"error":'):
        raise ConnectorError(str(msgspec.json.decode(lines[0])["error"]))


def tap_path(settings: GatewaySettings, file: Path) -> str:
    """The socket of the gateway with this file: as told, or in systemd's folder for the service, or beside the file."""
    if settings.tap:
        return str(file.parent / settings.tap)
    folder = os.environ.get("RUNTIME_DIRECTORY", "").partition(":")[0] or f"/run/tidelog-{file.stem}"
    of_service = Path(folder) / f"{file.stem}.tap"
    is_service = "RUNTIME_DIRECTORY" in os.environ or of_service.exists()
    return str(of_service if is_service else file.parent / f".{file.stem}.tap")
