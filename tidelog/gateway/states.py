"""The state of a program, and what becomes of it when the program has changed."""

from __future__ import annotations

import logging
import os
import time
from typing import Literal

from tidelog.connectors.store.state_store import PRIVATE, StateDirectory
from tidelog.connectors.store.syncing import make_folder
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.journal.manifest import fingerprint, unpack_head

logger = logging.getLogger("tidelog")


def open_state(path: str, plan: Plan, *, when_changed: Literal["refuse", "drop", "set-aside"]) -> StateDirectory:
    """The state in a directory, for this program.

    Where another program has stored it, the engine goes on from there; or it is set aside, under a name with the time, and a
    new one begins.
    """
    store = StateDirectory(path)
    stored = store.head()
    if when_changed != "set-aside" or stored is None or unpack_head(stored, path).fingerprint == fingerprint(plan):
        return store
    store.close()
    aside = f"{path}.{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    os.rename(path, aside)
    make_folder(path, PRIVATE)
    logger.warning("the program has changed: its state is set aside in `%s`, and a new one begins", aside)
    return StateDirectory(path)
