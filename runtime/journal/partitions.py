"""A session's state in parts: one a step, and one for what joins share; what has nothing new is not stored again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from tidelog.plans.diagnostics.errors import SnapshotError

_REST = "session"
"""The part that holds all that is no step's."""
_STEP = "step "
_ARRANGEMENT = "arrangement "
REACH = "reach"
"""The part that is no state: up to when facts have held that were brought so far (`runtime/corrections/correcting.py`)."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


class Parts:
    """Cuts states into parts, and tells which of them are not as they were when they were last stored."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}

    def changed(self, state: dict[str, Any]) -> tuple[dict[str, bytes | None], dict[str, bytes]]:
        """The parts that are not as they were, None for one that is no more; and the digests of all, for `stored`."""
        parts = _cut(state)
        digests = {name: blake2b(data, digest_size=16).digest() for name, data in parts.items()}
        changed: dict[str, bytes | None] = {
            name: data for name, data in parts.items() if digests[name] != self._digests.get(name)
        }
        changed |= dict.fromkeys(self._digests.keys() - parts.keys())
        return changed, digests

    def stored(self, digests: dict[str, bytes]) -> None:
        """The parts with these digests are stored."""
        self._digests = digests

    def follow(self, changed: Mapping[str, bytes | None]) -> None:
        """These parts have been stored by another process, None for one that is no more."""
        for name, data in changed.items():
            if data is None:
                self._digests.pop(name, None)
            else:
                self._digests[name] = blake2b(data, digest_size=16).digest()

    def load(self, parts: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
        """The state in stored parts. SnapshotError where they are no state."""
        try:
            found = {name: (_decode(data), blake2b(data, digest_size=16).digest()) for name, data in parts if name != REACH}
            state: dict[str, Any] = found[_REST][0]
            graph = state["network"]["graph"]
            for name, (data, _) in found.items():
                if name.startswith(_STEP):
                    graph["operators"][name.removeprefix(_STEP)] = data
                elif name.startswith(_ARRANGEMENT):
                    graph["arrangements"][name.removeprefix(_ARRANGEMENT)] = data
        except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError, AttributeError) as error:
            raise SnapshotError(f"the snapshot is damaged: {error!r}") from error
        self._digests = {name: digest for name, (_, digest) in found.items()}
        return state


def _cut(state: dict[str, Any]) -> dict[str, bytes]:
    network = state["network"]
    graph = network["graph"]
    parts = {_STEP + name: _encode(operator) for name, operator in graph["operators"].items()}
    parts |= {_ARRANGEMENT + name: _encode(data) for name, data in graph["arrangements"].items()}
    rest = {**state, "network": {**network, "graph": {**graph, "operators": {}, "arrangements": {}}}}
    return {_REST: _encode(rest), **parts}
