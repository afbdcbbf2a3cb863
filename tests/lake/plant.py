"""A plant of many gateways in one process, which serves drawn outboxes: `python -m lake.plant PORT GATEWAYS FACTS SEED`.

Each gateway tells so many facts, a few more whenever it is asked, is away now and then, and loses some of the replies about
acknowledgements. `GET /expected` says what all have told. It keeps what is not acknowledged, as outboxes do.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

_AWAY = 0.02
"""How often a gateway is away for a while."""


class Gateway:
    """One gateway: what it has told, and how much of that is acknowledged."""

    def __init__(self, number: int, facts: int, seed: int) -> None:
        self.lock = Lock()
        self.draw = random.Random(f"{seed} {number}")
        self.node, self.identity = f"gw{number}", f"box{number}"
        self.facts = list(self._facts(facts))
        self.told = self.acknowledged = 0
        self.refusals = 0

    def _facts(self, number: int) -> Iterator[dict[str, Any]]:
        for seq in range(1, number + 1):
            low = max(0, 20 * seq + self.draw.randrange(-200, 20))
            high = low + self.draw.randrange(0, 40)
            predicate = self.draw.choice(("hot", "dry"))
            ends = {"start": str(low), "end": str(high), "start_open": False, "end_open": False}
            row = {"seq": seq, "predicate": predicate, "arguments": [self.draw.choice("ab")], **ends}
            yield {**row, "horizon": None, "emitted_at": 1_700_000_000_000_000 + seq}

    def schema(self) -> dict[str, Any]:
        known = {"arity": 1, "fields": ["sensor"], "types": ["text"]}
        predicates = dict.fromkeys(("hot", "dry"), known)
        names = {"node": self.node, "identity": self.identity}
        return {**names, "timeline": "integer", "unit": "1", "predicates": predicates, "holds_changes": False}

    def is_away(self) -> bool:
        if not self.refusals and self.draw.random() < _AWAY:
            self.refusals = self.draw.randrange(1, 4)
        self.refusals = max(0, self.refusals - 1)
        return self.refusals > 0

    def tell(self) -> None:
        self.told = min(len(self.facts), self.told + self.draw.randrange(1, 1 + max(1, len(self.facts) // 3)))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    gateways: dict[str, Gateway]

    def _gateway(self) -> tuple[Gateway, str] | None:
        name, _, what = urlsplit(self.path).path.removeprefix("/outbox/").partition("/")
        gateway = self.gateways[name]
        with gateway.lock:
            if gateway.is_away():
                self.close_connection = True
                return None
        return gateway, what

    def do_HEAD(self) -> None:
        if found := self._gateway():
            with found[0].lock:
                found[0].tell()
            self._answer(found[0], b"")

    def do_GET(self) -> None:
        if self.path == "/expected":
            told = {name: gateway.facts for name, gateway in self.gateways.items()}
            self._answer(None, json.dumps(told).encode())
        elif found := self._gateway():
            gateway, what = found
            if what == "schema":
                self._answer(gateway, json.dumps(gateway.schema()).encode())
                return
            asked = parse_qs(urlsplit(self.path).query)
            after, limit = int(asked["after"][0]), int(asked["limit"][0])
            with gateway.lock:
                rows = gateway.facts[max(after, gateway.acknowledged) : min(after + limit, gateway.told)]
            self._answer(gateway, b"".join(json.dumps(row).encode() + b"\n" for row in rows))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if found := self._gateway():
            gateway = found[0]
            with gateway.lock:
                gateway.acknowledged = max(gateway.acknowledged, json.loads(body)["upto"])
                if gateway.draw.random() < _AWAY:  # the reply is lost
                    self.close_connection = True
                    return
            self._answer(gateway, b"{}")

    def _answer(self, gateway: Gateway | None, data: bytes) -> None:
        self.send_response(200)
        if gateway is not None:
            self.send_header("Outbox-First", str(gateway.acknowledged + 1))
            self.send_header("Outbox-Last", str(gateway.told))
            self.send_header("Outbox-Identity", gateway.identity)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing is said."""


class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked has gone, as who is killed does."""


def main() -> None:
    """Serve until the process is killed."""
    port, gateways, facts, seed = map(int, sys.argv[1:])
    Handler.gateways = {f"gw{number}": Gateway(number, facts, seed) for number in range(gateways)}
    with Server(("127.0.0.1", port), Handler) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
