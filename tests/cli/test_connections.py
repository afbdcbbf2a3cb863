"""The command line and those whom it talks to: few descriptors, servers that break, what is told at the end."""

from __future__ import annotations

import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest

from children import WAIT
from waiting import eventually

TIDELOG = [sys.executable, "-m", "tidelog"]
BACKENDS = pytest.mark.parametrize("backend", ["trio", "asyncio"])


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "seen.tide"
    path.write_text("timeline integer. seen(X) :- p(X).")
    return str(path)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def running(*arguments: str, descriptors: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """The command line beside the test; it is gone at the end."""

    def limit() -> None:
        if descriptors is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    command = [*TIDELOG, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=limit) as process:  # noqa: PLW1509 - one thread
        try:
            yield process
        finally:
            process.kill()


def connect(stack: ExitStack, port: int, process: subprocess.Popen[str]) -> socket.socket:
    """A client of a listener that is about to listen."""

    def connection() -> socket.socket | None:
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port), WAIT)
        return None

    found = eventually(connection, process=process)
    assert found is not None
    return stack.enter_context(found)


def next_line(stream: IO[str] | None) -> str:
    assert stream is not None
    assert select.select([stream], [], [], WAIT)[0], "nothing came"
    return stream.readline()


@pytest.mark.slow
@BACKENDS
def test_a_listener_without_descriptors_serves_again_once_it_has_some(program: str, backend: str) -> None:
    """With `ulimit -n 64` and 80 clients the run goes on, says so once, and serves whoever comes when others have gone."""
    port = free_port()
    arguments = ["run", program, "--in", f"facts+tcp+listen://127.0.0.1:{port}", "--out", "facts+-", "--backend", backend]
    with running(*arguments, descriptors=64) as process, ExitStack() as stack:
        clients = [connect(stack, port, process) for _ in range(80)]
        clients[79].sendall(b"p(last)@2\n")
        name = f"tcp://127.0.0.1:{port}"
        warning = f"tidelog: {name}: no connection can be accepted: [Errno 24] Too many open files; trying again\n"
        assert next_line(process.stderr) == warning
        for client in clients[:79]:
            client.close()
        assert next_line(process.stdout) == "seen(last)@2\n"
        connect(stack, port, process).sendall(b"p(new)@3\n")
        assert next_line(process.stdout) == "seen(new)@3\n"
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=WAIT)
        assert (told.replace(f"tidelog: note: {name}: ", "").count("connection"), process.returncode) == (0, 143)


@BACKENDS
def test_who_was_not_served_is_told(program: str, backend: str) -> None:
    """Clients over `--max-clients` and those that are silent for `--client-timeout` are closed, and told at the end."""
    port = free_port()
    arguments = ["run", program, "--in", f"facts+tcp+listen://127.0.0.1:{port}", "--out", "facts+-", "--backend", backend]
    with running(*arguments, "--max-clients", "1", "--client-timeout", "0.3", "--stats") as process, ExitStack() as stack:
        one = connect(stack, port, process)
        two = connect(stack, port, process)
        assert two.recv(1) == b""
        assert one.recv(1) == b""
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=WAIT)
        name = f"tcp://127.0.0.1:{port}"
        assert f"tidelog: {name}: all 1 places for clients are taken: further ones are closed at once\n" in told
        assert f"tidelog: note: {name}: 1 client refused, as all places were taken\n" in told
        assert f"tidelog: note: {name}: 1 silent client disconnected\n" in told
        assert f"tidelog: {name}: 1 connected, 1 refused, 1 silent\n" in told


@pytest.mark.long
@pytest.mark.slow
@BACKENDS
def test_a_server_that_resets_three_times_is_in_the_exit_code(program: str, backend: str, tmp_path: Path) -> None:
    """What is missing and what is twice is at most what is told at the end, most answers arrive, and the exit code is 1."""
    count = 100_000
    (tmp_path / "facts.txt").write_text("".join(f"p({i})@{i}\n" for i in range(count)))
    received: Counter[bytes] = Counter()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WAIT)
        out = f"facts+tcp://127.0.0.1:{server.getsockname()[1]}"
        arguments = ["run", program, "--in", str(tmp_path / "facts.txt"), "--out", out, "--backend", backend, "--stats"]
        with running(*arguments) as process:
            for breaks in (True, True, True, False):
                peer, _ = server.accept()
                data = b""
                while (chunk := peer.recv(4096)) and not (breaks and len(data) > 10_000):
                    data += chunk
                received.update(data.split(b"\n")[:-1])
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", int(breaks), 0))
                peer.close()
            _, told = process.communicate(timeout=WAIT)
    assert process.returncode == 1
    [line] = [line for line in told.splitlines() if ": broken 3 times; " in line]
    lost, repeated = map(int, re.findall(r"; ([0-9]+) lost, ([0-9]+) twice", line)[0])
    missing = count - len(received)
    assert missing <= lost < count / 2
    assert received.total() - len(received) <= repeated
    assert f"note: {out.removeprefix('facts+')}: connection lost 3 times: up to {lost} answers may be lost" in told


def test_a_unix_socket_that_is_in_use_or_is_none(program: str, tmp_path: Path) -> None:
    """What is at a listener's path and is no socket stays, and is a mistake in usage."""
    path = tmp_path / "data"
    path.write_text("precious")
    with running("run", program, "--in", f"unix+listen://{path}") as process:
        _, told = process.communicate(timeout=WAIT)
    assert (told, process.returncode) == (
        f"tidelog: error: cannot listen at `{path}`: there is something that is no socket\n",
        2,
    )
    assert path.read_text() == "precious"
