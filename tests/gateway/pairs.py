"""Two gateways that stand by for each other, as processes; a receiver of webhooks, devices, and wires."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from brokers import free_port
from children import WAIT
from services import TIDELOG
from waiting import eventually
from wires import Wire

PROGRAM = """timeline integer, unit 1 ms.
input temp(machine: text, celsius: number, n: integer).
output hot.
hot(M, N) :- temp(M, C, N), C >= 80.
"""
SETTINGS = """program = "plant.tide"
emit = "intervals"
lateness = "1 h"
state = "state"
[http]
listen = "127.0.0.1:{port}"
token = {{ env = "PAIR_TOKEN" }}
[standby]
lease = "{lease}"
follow = "http://127.0.0.1:{other}"
token = {{ env = "PAIR_TOKEN" }}
{more}
[[source]]
name = "floor"
type = "http"
path = "/devices"
[[source.map]]
topic = "{{machine}}/temp"
predicate = "temp"
time = {{ path = "t", format = "ms" }}
[[sink]]
name = "alarms"
type = "webhook"
url = "http://127.0.0.1:{hook}/"
payload = {{ n = "{{arg2}}" }}
retry_longest = 0.2
"""
TOKEN = "a token of both gateways"  # noqa: S105 - of a test
BEGAN = 1_700_000_000_000
_POST_SECONDS = 60.0
_PAUSE = 0.02
"""How long devices wait between two posts."""


class Receiver:
    """Takes webhooks: what was told, with its id and its epoch, in order. It refuses what an older epoch tells."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self.when: list[float] = []
        self.epochs: list[int] = []
        self.refused = 0
        lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                number = json.loads(self.rfile.read(int(self.headers["content-length"])))["n"]
                epoch = int(self.headers.get("tidelog-epoch", "0"))
                with lock:
                    is_old = bool(receiver.epochs) and epoch < max(receiver.epochs)
                    if is_old:
                        receiver.refused += 1
                    else:
                        receiver.told.append((self.headers["webhook-id"], number))
                        receiver.epochs.append(epoch)
                        receiver.when.append(time.monotonic())
                with suppress(OSError):
                    self.send_response(412 if is_old else 200)
                    self.send_header("content-length", "0")
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def numbers(self) -> list[int]:
        """What was told, without what came again under an id that was there."""
        return list(dict(self.told).values())


class Member:
    """One of the two gateways."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.file = folder / "plant.toml"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin, or go on."""
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(
                [*TIDELOG, "gateway", str(self.file)], stderr=log, env={**os.environ, "PAIR_TOKEN": TOKEN}
            )

    def end(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal that ends it, and wait for that."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(WAIT)
            self.process = None

    def ask(self, path: str, body: bytes | None = None, timeout: float = 5.0) -> tuple[int, bytes]:
        """What it answers; status 0 where it cannot be reached."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body)
        request.add_header("authorization", f"Bearer {TOKEN}")
        try:
            try:
                with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310 - of a gateway
                    return answer.status, answer.read()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read()  # which may break off, too
        except (OSError, HTTPException):
            return 0, b""

    @property
    def standing(self) -> dict[str, Any]:
        """How it stands; nothing where it does not answer."""
        status, body = self.ask("/api/state?brief")
        found: dict[str, Any] = (json.loads(body)["standby"] or {}) if status == 200 else {}
        return found

    @property
    def leads(self) -> bool:
        return self.standing.get("role") == "leads" and self.ask("/ready")[0] == 200

    @property
    def log(self) -> str:
        return (self.folder / "log.txt").read_text() if (self.folder / "log.txt").exists() else ""


class Pair:
    """Two gateways, each reached by the other one over a wire."""

    def __init__(self, folder: Path, receiver: Receiver, wires: Sequence[Wire], members: Sequence[Member]) -> None:
        self.lease, self.receiver, self.wires, self.members = folder / "lease", receiver, wires, members
        self.posted = 0
        self.post_wait = 1.0
        """How many seconds a device waits for an answer before it asks the other gateway."""
        self.risked: set[int] = set()
        """Alarms of a leader that was alone when it died, which may be lost."""
        self.alone_count = 0

    def leader(self) -> Member:
        """The one that leads, once one does."""
        return eventually(lambda: next((one for one in self.members if one.process and one.leads), None))  # type: ignore[return-value] # it waits until there is one

    def other(self, member: Member) -> Member:
        return self.members[1 - list(self.members).index(member)]

    def wait_together(self) -> tuple[Member, Member]:
        """The one that leads, and the one that follows and has all."""
        pairs = [(one, self.other(one)) for one in self.members]
        return eventually(lambda: next((both for both in pairs if self._are_together(*both)), None))  # type: ignore[return-value] # it waits until there is one

    def _are_together(self, leader: Member, follower: Member) -> bool:
        """Whether one leads and the other one follows it: one that has stood still leads by its own account for a moment."""
        if leader.process is None or follower.process is None or not leader.leads:
            return False
        first, second = leader.standing, follower.standing
        roles = first.get("role"), second.get("role")
        alone = first.get("is_alone"), second.get("is_alone")
        return roles == ("leads", "follows") and first["epoch"] == second["epoch"] and alone == (False, False)

    def post(self, count: int) -> None:
        """Each of these is an alarm, and has been accepted by a gateway that leads when this returns."""
        for number in range(self.posted, self.posted + count):
            self._post(number)
        self.posted += count

    def _post(self, number: int) -> None:
        body = json.dumps({"celsius": 85, "n": number, "t": BEGAN + number}).encode()
        until = time.monotonic() + _POST_SECONDS
        while True:
            for member in self.members:
                if member.process is not None and member.ask(f"/devices/m{number % 5}/temp", body, self.post_wait)[0] == 202:
                    return
            assert time.monotonic() < until, [member.log[-2000:] for member in self.members]
            time.sleep(0.01)

    @contextmanager
    def posting(self) -> Iterator[None]:
        """Devices post, one alarm after the other, for the length of a `with` block."""
        stops = threading.Event()
        failed: list[BaseException] = []

        def go_on() -> None:
            try:
                while not stops.is_set():
                    self.post(1)
                    time.sleep(_PAUSE)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            stops.set()
            thread.join(WAIT)
            assert not failed, failed  # also where the block has failed since nobody posted any more

    @contextmanager
    def fault(self, pause: float) -> Iterator[tuple[Member, Member]]:
        """For a fault inside, so many seconds after the two have been together: the leader, and its follower that has all.

        A leader whose follower is too slow goes on alone, as it says. Where it has done so just before the fault, whoever
        leads then knows that it lacks something: that is counted, and what was posted meanwhile may be lost.
        """
        while True:
            leader, follower = self.wait_together()
            together, lacking = self.posted, self._lacking()
            time.sleep(pause)
            if self._are_together(leader, follower):
                break
        yield leader, follower
        if self._lacking() > lacking:
            self.alone_count += 1
            self.risked |= set(range(together, self.posted + 1))

    def _lacking(self) -> int:
        """How often one of the two has found that it lacks something when it was to lead."""
        return sum(member.log.count("lacks what was told last") for member in self.members)

    # --- faults ---------------------------------------------------------------------------------------------------------

    def kill(self, leader: Member) -> None:
        """The leader dies, and comes back when the other one leads."""
        leader.end()
        self.wait_leads(self.other(leader))
        leader.start()

    def stop(self, leader: Member) -> None:
        """The leader stands still, wherever it is, and goes on when the other one leads."""
        assert leader.process is not None
        leader.process.send_signal(signal.SIGSTOP)
        try:
            self.wait_leads(self.other(leader))
        finally:
            leader.process.send_signal(signal.SIGCONT)

    def pull(self, leader: Member) -> None:
        """The leader alone does not reach the lease until the other one leads."""
        (leader.folder / "lease").unlink()
        try:
            self.wait_leads(self.other(leader))
        finally:
            (leader.folder / "lease").symlink_to(self.lease)

    def pull_from_both(self, leader: Member) -> None:
        """Nobody reaches the lease for a while, so nobody leads."""
        gone = self.lease.with_name("gone")
        self.lease.rename(gone)
        eventually(lambda: not leader.leads)
        gone.rename(self.lease)
        self.leader()

    def cut(self, leader: Member) -> None:
        """The follower does not reach the leader, which goes on alone; then it does again."""
        wire = self.wires[list(self.members).index(leader)]
        wire.stall()
        eventually(lambda: leader.standing.get("is_alone"))
        wire.flow()
        wire.cut()

    def hand_over(self, leader: Member) -> None:
        """The follower is told to lead."""
        told = subprocess.run(
            [*TIDELOG, "gateway", str(self.other(leader).file), "--take-over"],
            env={**os.environ, "PAIR_TOKEN": TOKEN},
            capture_output=True,
            text=True,
            timeout=WAIT,
            check=False,
        )
        assert told.returncode == 0 and told.stdout.startswith("leads under epoch"), told

    def end_cleanly(self, leader: Member) -> None:
        """The leader is stopped as a service is, and comes back."""
        leader.end(signal.SIGTERM)
        self.wait_leads(self.other(leader))
        leader.start()

    def wait_leads(self, member: Member) -> None:
        eventually(lambda: member.leads)

    def check_all_told(self) -> None:
        """Each alarm was told, under one id; what was told twice has the same id; no epoch went back. Not so of those that
        were risked."""
        expected = set(range(self.posted)) - self.risked
        with suppress(AssertionError):  # what is missing is told below
            eventually(lambda: expected <= set(self.receiver.numbers), 30)
        numbers = [number for number in self.receiver.numbers if number not in self.risked]
        missing = sorted(expected - set(numbers))
        assert not missing, (missing, [member.log[-20000:] for member in self.members])
        assert sorted(numbers) == sorted(expected), (numbers, [member.log[-3000:] for member in self.members])
        assert self.receiver.epochs == sorted(self.receiver.epochs)


@contextmanager
def pair(folder: Path, more: str = "") -> Iterator[Pair]:
    """Two gateways that are not started yet; `more` are further lines of `[standby]`."""
    (folder / "lease").mkdir()
    ports = [free_port(), free_port()]
    with Receiver() as receiver, Wire(ports[0]) as first, Wire(ports[1]) as second:
        wires, members = (first, second), []
        for i, port in enumerate(ports):
            home = folder / "ab"[i]
            home.mkdir()
            (home / "plant.tide").write_text(PROGRAM)
            member = Member(home, port)
            (home / "lease").symlink_to(folder / "lease")  # which can be pulled from one alone
            settings = {"lease": "lease", "other": wires[1 - i].port, "hook": receiver.port, "more": more}
            member.file.write_text(SETTINGS.format(port=port, **settings))
            members.append(member)
        found = Pair(folder, receiver, wires, members)
        try:
            yield found
        finally:
            for member in members:
                member.end()
