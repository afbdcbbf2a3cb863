"""What an ingestion is doing, in a file that Prometheus' node exporter reads (its textfile collector)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from tidelog.connectors.lake.gateways.sites import Site, Sites
from tidelog.connectors.store.syncing import replace_file
from tidelog.plans.diagnostics.errors import ConnectorError


@dataclass(slots=True)
class Counts:
    """What an ingestion has done: batches, and facts of them."""

    batches: int = 0
    facts: int = 0


def write_metrics(path: str, sites: Sites, counts: Counts) -> None:
    """Write the file anew, as a whole. ConnectorError where that cannot be."""
    lines = [
        *_metric("tidelog_ingest_batches_total", "counter", "Batches that are written and acknowledged.", counts.batches),
        *_metric("tidelog_ingest_facts_total", "counter", "Facts of these batches.", counts.facts),
        *_per_site("tidelog_ingest_up", "Whether a gateway has answered when it was asked last.", sites, _is_up),
        *_per_site("tidelog_ingest_waiting", "Facts that it has told, and that no table has yet.", sites, _waiting),
        *_per_site("tidelog_ingest_taken", "The number of the last fact that tables have.", sites, _taken),
    ]
    try:
        replace_file(os.path.abspath(path), "".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise ConnectorError(f"cannot write `{path}`: {error.strerror}") from error


def _metric(name: str, kind: str, help: str, value: int) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}", f"{name} {value}"]


def _per_site(name: str, help: str, sites: Sites, value: Callable[[Site], int]) -> list[str]:
    lines = [f'{name}{{from="{_escaped(site.origin.place)}"}} {value(site)}' for site in sites.all]
    return [f"# HELP {name} {help}", f"# TYPE {name} gauge", *lines]


def _is_up(site: Site) -> int:
    return int(not site.is_away)


def _waiting(site: Site) -> int:
    return site.waiting


def _taken(site: Site) -> int:
    return site.taken


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
