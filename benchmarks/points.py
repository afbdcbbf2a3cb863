"""Points by InfluxDB's line protocol: how many a second, beside a bare server, and whether memory stays flat.

    python -m benchmarks.points [--count 200000]

A client posts requests of 1,000 points each over one connection. The bare server takes them with the same library
(hypercorn), reads each line, and counts it. The gateway makes facts of them by a map, takes them into a program, and answers
once it has. Both take turns, each in a process of its own. Then so many answers are owed to an InfluxDB that is away,
and the gateway's memory is looked at.
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAM = """timeline integer, unit 1 ms, round down.
input seen(host: text, n: integer).
output hot(host, n).
hot(H, N) :- seen(H, N){condition}.
"""
SETTINGS = """program = "plant.tide"
emit = "intervals"
{state}
[[source]]
name = "points"
type = "influx"
[[source.map]]
predicate = "seen"
topic = "m"
time = {{ path = "time", format = "ns" }}
[[sink]]
name = "answers"
type = "influx"
url = "http://127.0.0.1:{influx}"
database = "plant"
retry_longest = 0.5
[http]
listen = "127.0.0.1:{port}"
"""
TOGETHER, TURNS = 1_000, 5


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve_bare(port: int) -> None:
    """A server that reads each line, and does nothing else."""
    import trio  # noqa: PLC0415 - of this process alone
    from hypercorn.config import Config  # noqa: PLC0415 - likewise
    from hypercorn.trio import serve  # noqa: PLC0415 - likewise

    from tidelog.connectors.databases.influx.grammar import PointReader  # noqa: PLC0415 - likewise

    reader = PointReader()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        for line in body.splitlines():
            reader.read(line)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.accesslog = config.errorlog = None
    trio.run(serve, app, config)


def wait_for(port: int) -> None:
    """Until somebody listens there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"nobody listens at {port}")


class Client:
    """Writes points whose time goes on."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self._next = 0

    def write(self, count: int) -> float:
        """So many points; how many a second are taken."""
        begin = time.perf_counter()
        for _ in range(count // TOGETHER):
            numbers = range(self._next, self._next + TOGETHER)
            body = "".join(f"m,host=h{n % 50} n={n}i {n * 1_000_000}\n" for n in numbers)
            self._next += TOGETHER
            while True:
                self._connection.request("POST", "/write?db=x", body)
                answer = self._connection.getresponse()
                said = answer.read()
                if answer.status == 204:
                    break
                if answer.status not in (429, 503):
                    raise SystemExit(f"{answer.status}: {said!r}")
        return count / (time.perf_counter() - begin)


def gateway(folder: Path, port: int, *, influx: int, condition: str, state: str) -> subprocess.Popen[bytes]:
    """A gateway that runs."""
    (folder / "plant.tide").write_text(PROGRAM.format(condition=condition))
    (folder / "plant.toml").write_text(SETTINGS.format(port=port, influx=influx, state=state))
    command = [sys.executable, "-m", "tidelog", "gateway", str(folder / "plant.toml")]
    running = subprocess.Popen(command, stderr=(folder / "log").open("ab"))
    wait_for(port)
    return running


def rates(count: int) -> None:
    """Beside the bare server."""
    bare, port = free_port(), free_port()
    server = multiprocessing.get_context("spawn").Process(target=serve_bare, args=(bare,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        running = gateway(Path(folder), port, influx=9, condition=", N < 0", state="")
        wait_for(bare)
        clients = {"bare": Client(bare), "ours": Client(port)}
        found: dict[str, list[float]] = {name: [] for name in clients}
        for _ in range(TURNS):
            for name, client in clients.items():
                found[name].append(client.write(count // TURNS))
        running.send_signal(signal.SIGTERM)
        running.wait(60)
    server.terminate()
    middle = {name: statistics.median(rate) for name, rate in found.items()}
    print(f"points a second: bare {middle['bare']:,.0f}, ours {middle['ours']:,.0f}, {middle['ours'] / middle['bare']:.2f}")


def memory(process: subprocess.Popen[bytes]) -> float:
    """What a process holds, in MB."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def backlog(count: int) -> None:
    """Answers that are owed to an InfluxDB that is away."""
    port = free_port()
    folder = Path(tempfile.mkdtemp())
    running = gateway(folder, port, influx=free_port(), condition="", state='state = "state"')
    client = Client(port)
    client.write(count // 10)
    time.sleep(1)
    few = memory(running)
    client.write(count)
    time.sleep(1)
    many = memory(running)
    running.send_signal(signal.SIGTERM)
    running.wait(60)
    shutil.rmtree(folder)
    print(f"memory with {count // 10:,} answers owed {few:.0f} MB, with {count + count // 10:,} {many:.0f} MB")


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200_000)
    count = parser.parse_args().count
    rates(count)
    backlog(count)


if __name__ == "__main__":
    main()
