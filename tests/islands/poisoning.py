"""Facts by which an actor fails: rows that begin with `fails` let whatever network takes them fail, `ends` its process end.

The network has taken the facts by then, so its state is of no use. `install` works in this process, and `in_workers` in
those of workers, which import `sitecustomize` when they start.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tidelog.plans.diagnostics.errors import OperatorError
from tidelog.runtime.network.network import Network

PROGRAM = """timeline integer. input p(x, y). input q(x).
a(X, Y) :- diamondminus[0,2] p(X, Y).
b(N) :- N = count() over a(_, _) in [3].
c(X) :- diamondminus[0,1] q(X).
output a, b, c."""
"""An island with the key X, one behind it, and another one with a key."""
_deliver = Network.deliver


def install(patch: Any) -> None:
    """Let networks of this process fail; `patch` sets an attribute."""
    patch(Network, "deliver", _failing)


def in_workers(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let networks of workers that are started from now on fail."""
    (folder / "sitecustomize.py").write_text("import islands.poisoning as poisoning\npoisoning.install(setattr)\n")
    patch.syspath_prepend(str(folder))


def _failing(network: Network, delivery: Any, remote: Sequence[Any] = ()) -> None:
    _deliver(network, delivery, remote)
    for facts in delivery.facts.values():
        for row, _, _ in facts:
            if str(row[0]).startswith("ends"):
                os._exit(1)
            if str(row[0]).startswith("fails"):
                raise OperatorError("a", "a rule", str(row), "it cannot be taken")
