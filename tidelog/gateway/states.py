"""The state of a program, and what becomes of it when the program has changed."""

from __future__ import annotations

import logging
import os
import time
from typing import Literal

from tidelog.connectors.store.state_store import PRIVATE, StateDirectory
from tidelog.connectors.store.syncing import make_folder
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.stored import is_same_program, plan_digest, unpack_plan
from tidelog.runtime.journal.manifest import Head, unpack_head

logger = logging.getLogger("tidelog")


def open_state(path: str, plan: Plan, *, when_changed: Literal["refuse", "drop", "set-aside"]) -> StateDirectory:
    """The state in a directory, for this program.

    Where another program has stored it, the engine goes on from there; or it is set aside, under a name with the time, and a
    new one begins.
    """
    store = StateDirectory(path)
    stored = store.head()
    if when_changed != "set-aside" or stored is None or not _has_changed(store, unpack_head(stored, path), plan):
        return store
    store.close()
    aside = f"{path}.{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    os.rename(path, aside)
    make_folder(path, PRIVATE)
    logger.warning("the program has changed: its state is set aside in `%s`, and a new one begins", aside)
    return StateDirectory(path)


def _has_changed(store: StateDirectory, head: Head, plan: Plan) -> bool:
    """Whether another program has stored a state; another version of tidelog may have made another plan of the same one."""
    return head.plan != plan_digest(plan) and not is_same_program(unpack_plan(store.plan(), store.name, plan), plan)
