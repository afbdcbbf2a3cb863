"""A client of the language server: a process, and requests to it over its standard input and output."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from children import WAIT, child


class ServerError(Exception):
    """What the server answers in place of a result."""


class Client:
    """Speaks JSON-RPC with a server; `notes` are the notifications that came and were not asked for yet."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._number = 0
        self._buffer = b""
        self.notes: list[dict[str, Any]] = []
        self._versions: dict[str, int] = {}

    def request(self, method: str, **params: Any) -> Any:
        """Ask, and wait for the result; ServerError where there is none."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._number and "method" not in message:
                if "error" in message:
                    raise ServerError(message["error"]["message"])
                return message["result"]
            self.notes.append(message)

    def notify(self, method: str, **params: Any) -> None:
        """Tell the server something."""
        self._send({"method": method, "params": params})

    def open(self, uri: str, text: str) -> list[dict[str, Any]]:
        """Open a document; returns its diagnostics."""
        self._versions[uri] = 1
        self.notify("textDocument/didOpen", textDocument={"uri": uri, "languageId": "tide", "version": 1, "text": text})
        return self.diagnostics(uri)

    def change(self, uri: str, *texts: str) -> list[dict[str, Any]]:
        """Type these texts one after the other; returns the diagnostics of the last."""
        for text in texts:
            self._versions[uri] += 1
            document = {"uri": uri, "version": self._versions[uri]}
            self.notify("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])
        return self.diagnostics(uri)

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """The diagnostics of the document's present version, once they have come."""
        while True:
            for at, message in enumerate(self.notes):
                params = message.get("params", {})
                is_it = message.get("method") == "textDocument/publishDiagnostics" and params.get("uri") == uri
                if is_it and params.get("version") == self._versions[uri]:
                    del self.notes[: at + 1]
                    found: list[dict[str, Any]] = params["diagnostics"]
                    return found
            self.notes.append(self._receive())

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        while b"\r\n\r\n" not in self._buffer:
            self._read()
        head, _, rest = self._buffer.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        while len(rest) < length:
            self._read()
            rest = self._buffer.partition(b"\r\n\r\n")[2]
        self._buffer = rest[length:]
        message: dict[str, Any] = json.loads(rest[:length])
        return message

    def _read(self) -> None:
        assert self._process.stdout is not None
        end = time.monotonic() + WAIT
        ready, _, _ = select.select([self._process.stdout], [], [], end - time.monotonic())
        data = os.read(self._process.stdout.fileno(), 65536) if ready else b""
        if not data:
            raise AssertionError("the server says nothing any more")
        self._buffer += data


@contextmanager
def client(encodings: list[str] | None = None, snippets: bool = True) -> Iterator[Client]:
    """A server that has been greeted; behind the block it is told to end, and ends."""
    command = [sys.executable, "-m", "tidelog", "lsp", "--stdio"]
    with child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        spoken = Client(process)
        capabilities: dict[str, Any] = {
            "textDocument": {"completion": {"completionItem": {"snippetSupport": snippets}}},
            "general": {"positionEncodings": encodings} if encodings else {},
        }
        spoken.capabilities = spoken.request("initialize", processId=None, rootUri=None, capabilities=capabilities)[
            "capabilities"
        ]
        spoken.notify("initialized")
        yield spoken
        spoken.request("shutdown")
        spoken.notify("exit")
        assert process.wait(WAIT) == 0
