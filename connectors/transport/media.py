"""What a sink writes to, and what can be known of the bytes that it has taken: files, pipes, Unix sockets and TCP.

A system takes bytes before anybody reads them. Where a sink breaks, what has become of them is told as a `Receipt`.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

import anyio
import anyio.lowlevel

from tidelog.connectors.transport.addresses import Stream
from tidelog.connectors.transport.descriptors import READ_SIZE, Descriptor
from tidelog.plans.diagnostics.systems import has_posix, need_posix

with suppress(ImportError):  # on Windows, where sockets and pipes are refused that need them
    import fcntl
    import termios

STILL_SECONDS = 10.0
"""For how long, at the end, nothing is taken until the other side is given up."""
CLOSING_SECONDS = 1.0
"""How long, at the end, a server that has taken all may take to say that it has read all."""
LARGEST_WINDOW = 65535 << 14
"""How many bytes TCP lets a receiver have unread (RFC 7323)."""
_SLOWEST, _FASTEST = 0.05, 0.001
"""How often, in seconds, it is looked whether all has been taken."""
_SENT_AT_ONCE = 1 << 15
_NOT_SENT = 0x894B  # SIOCOUTQNSD
_WINDOW_SCALE_USED = 4  # TCPI_OPT_WSCALE


@dataclass(frozen=True, slots=True)
class Receipt:
    """The last bytes that were handed over: `waiting` were not taken, `doubtful` before them may have been, and of those
    before both, which were taken by a system, `unread` may not have been read.
    """

    waiting: int = 0
    doubtful: int = 0
    unread: int = 0

    @property
    def untaken(self) -> int:
        """How many are not known to be taken."""
        return self.waiting + self.doubtful


class Medium(ABC):
    """One opening of what a sink writes to."""

    goes_on = False
    """Whether, opened again, it goes on within the line that was cut; otherwise lines begin anew."""
    is_terminal = False
    """Whether a person looks at it, so that data must not steer it."""
    unread_at_most = 0
    """How many bytes may have been taken, and not read."""

    def __init__(self) -> None:
        self.handed = 0
        """How many bytes were handed over."""

    @abstractmethod
    async def write(self, data: memoryview) -> int:
        """Hand over some bytes, once there is room. Raises OSError."""

    @abstractmethod
    def receipt(self, error: OSError | None = None) -> Receipt:
        """What is known of the bytes that were handed over; with `error`, where that is what ended it."""

    async def finish(self) -> None:
        """All is handed over: wait until it is taken. OSError where it is lost; TimeoutError where nothing moves."""
        await anyio.lowlevel.checkpoint()

    @abstractmethod
    def close(self) -> None: ...


class DescriptorMedium(Medium):
    """A file, a terminal, or a pipe. Of a pipe that may have another reader when it is opened again (`is_reopened`), the
    system tells how much nobody has read.
    """

    def __init__(self, descriptor: Descriptor, *, is_reopened: bool) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._is_pipe = is_reopened and has_posix() and stat.S_ISFIFO(os.fstat(descriptor.fd).st_mode)
        self.goes_on = not self._is_pipe
        self.is_terminal = descriptor.is_terminal

    async def write(self, data: memoryview) -> int:
        written = await self._descriptor.write_some(data)
        self.handed += written
        return written

    def receipt(self, error: OSError | None = None) -> Receipt:
        return Receipt(_count(self._descriptor.fd, termios.FIONREAD)) if self._is_pipe else Receipt()

    def close(self) -> None:
        self._descriptor.close()


class SocketMedium(Medium):
    """A socket. What the other side says is read, so that its end is noticed, and dropped."""

    def __init__(self, own: socket.socket) -> None:
        super().__init__()
        need_posix("cannot write to a socket, of which it has to be known what was taken")
        own.setblocking(False)
        self.socket = own
        self.has_ended = False
        """Whether the other side has said all that it has to say; it may still listen."""

    async def write(self, data: memoryview) -> int:
        while True:
            self.hear()
            try:
                sent = self.socket.send(data[:_SENT_AT_ONCE])
            except BlockingIOError:
                await anyio.wait_writable(self.socket)
                continue
            self.handed += sent
            return sent

    def hear(self) -> None:
        """Drop what the other side says, a piece at a time. Raises OSError where the connection is lost."""
        code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        if not self.has_ended:
            with suppress(BlockingIOError):
                self.has_ended = not self.socket.recv(READ_SIZE)

    async def finish(self) -> None:
        self.hear()
        self._shut_down()
        untaken, since, pause = self.handed + 1, anyio.current_time(), _FASTEST
        while True:
            self.hear()
            left, now = self.receipt().untaken, anyio.current_time()
            if left < untaken:
                untaken, since = left, now
            elif left and now - since > STILL_SECONDS:
                raise TimeoutError(errno.ETIMEDOUT, f"{left} bytes were not taken")
            if not left and (self.has_ended or now - since >= self._closing_seconds):
                return
            await anyio.sleep(pause)
            pause = min(2 * pause, _SLOWEST)

    def _shut_down(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    @property
    def _closing_seconds(self) -> float:
        return 0.0

    def close(self) -> None:
        self.socket.close()


class TcpMedium(SocketMedium):
    """A TCP connection: what the other system has confirmed is taken, though perhaps not read when it resets the connection.

    A system that closes a connection of which something is unread resets it (RFC 2525, 2.17). So where an end came before
    the reset, and nothing was taken in between, all that was taken has been read.
    """

    def __init__(self, own: socket.socket) -> None:
        super().__init__(own)
        self._taken_at_end: int | None = None
        self._ends = 0
        self.unread_at_most = _window(own)

    def hear(self) -> None:
        super().hear()
        if self.has_ended and self._taken_at_end is None:
            self._taken_at_end = self.handed - self._unconfirmed()[0]

    def receipt(self, error: OSError | None = None) -> Receipt:
        unconfirmed, unsent = self._unconfirmed()
        if error is None:
            return Receipt(unsent, unconfirmed - unsent)
        taken = self.handed - unconfirmed
        if error.errno == errno.EPIPE and self._taken_at_end in (None, taken):
            return Receipt(unconfirmed)
        return Receipt(unsent, unconfirmed - unsent, min(taken, self.unread_at_most))

    def _unconfirmed(self) -> tuple[int, int]:
        """How many bytes the other system has not confirmed, and how many of these it was not sent."""
        unconfirmed = max(0, _count(self.socket.fileno(), termios.TIOCOUTQ) - self._ends)
        unsent = max(0, _count(self.socket.fileno(), _NOT_SENT) - self._ends)
        return unconfirmed, min(unconfirmed, unsent)

    def _shut_down(self) -> None:
        super()._shut_down()
        self._ends = 1  # the end counts as a byte

    @property
    def _closing_seconds(self) -> float:
        return CLOSING_SECONDS


class UnixMedium(SocketMedium):
    """A Unix-domain socket: what is taken has been read. The system tells what all that is unread weighs, not its bytes.

    What each piece weighs is noted when it is sent (rather too little, where the other side reads meanwhile), and pieces are
    read in order: so a piece is read when those behind it weigh as much as all that is unread.
    """

    def __init__(self, own: socket.socket) -> None:
        super().__init__(own)
        self._pieces: deque[tuple[int, int]] = deque()
        self._weight = 0
        self._read = 0

    async def write(self, data: memoryview) -> int:
        while True:
            before = self._notice()
            try:
                sent = self.socket.send(data[:_SENT_AT_ONCE])
            except BlockingIOError:
                await anyio.wait_writable(self.socket)
                continue
            self.handed += sent
            weight = max(0, _count(self.socket.fileno(), termios.TIOCOUTQ) - before)
            self._pieces.append((self.handed, weight))
            self._weight += weight
            return sent

    def _notice(self) -> int:
        """Forget the pieces that have been read; returns what the others weigh. Raises OSError as `hear` does."""
        unread = _count(self.socket.fileno(), termios.TIOCOUTQ)
        self.hear()  # where the other side has closed, what it has not read weighs nothing either
        if not unread:
            self._read, self._weight = self.handed, 0
            self._pieces.clear()
        while self._pieces and self._weight - self._pieces[0][1] >= unread:
            self._read, weight = self._pieces.popleft()
            self._weight -= weight
        return unread

    def receipt(self, error: OSError | None = None) -> Receipt:
        if error is None:
            self._notice()
        elif error.errno == errno.EPIPE and not self._was_reset():
            return Receipt()  # it was closed when all was read
        return Receipt(0, self.handed - self._read)

    def _was_reset(self) -> bool:
        return self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET


async def socket_medium(stream: Stream) -> SocketMedium:
    """The socket under a stream, taken out of the event loop's hands, which does not tell how many bytes it has sent."""
    try:
        raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
        own: socket.socket = raw.dup()
    finally:
        with anyio.CancelScope(shield=True):
            await stream.aclose()
    return UnixMedium(own) if own.family == socket.AF_UNIX else TcpMedium(own)


def _count(descriptor: int, request: int) -> int:
    """A number of bytes that the system tells; 0 where it does not know this request."""
    try:
        answer: bytes = fcntl.ioctl(descriptor, request, struct.pack("i", 0))
    except OSError:
        return 0
    return int(struct.unpack("i", answer)[0])


def _window(own: socket.socket) -> int:
    """How many bytes the other system can hold unread: what its window scale, fixed for the connection, can express."""
    if not hasattr(socket, "TCP_INFO"):
        return LARGEST_WINDOW
    info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)
    return 65535 << (info[6] & 15) if info[5] & _WINDOW_SCALE_USED else 65535
