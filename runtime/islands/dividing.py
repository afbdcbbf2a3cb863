from typing import Any

State = dict[str, Any]


def cut_state(plan, island, state):
    raise NotImplementedError


def join_states(plan, islands, states):
    raise NotImplementedError


def divide(plan, island, state, owner, shards):
    raise NotImplementedError


def unite(plan, island, states):
    raise NotImplementedError
