"""The settings of Spark's own that a user chooses on the command line."""

from __future__ import annotations

import argparse

from tidelog.connectors.spark.cluster.requirements import FIXED
from tidelog.connectors.spark.places import environment
from tidelog.plans.diagnostics.errors import SpecError


def settings_of(options: argparse.Namespace) -> dict[str, str]:
    """The settings of Spark's own that a user chooses; SpecError for what is none, or what answers depend on."""
    chosen: dict[str, str] = {}
    for each in options.conf:
        key, equals, value = each.partition("=")
        if not equals or not key.startswith("spark."):
            raise SpecError(f"`--conf` `{each}`: expected a setting of Spark's, such as `spark.executor.memory=4g`")
        if key in FIXED:
            raise SpecError(f"`--conf` `{each}`: answers depend on this setting, and a run sets it itself")
        chosen[key] = value
    if options.packages is not None:
        chosen["spark.jars.packages"] = options.packages
    if options.archives is not None:
        chosen["spark.archives"] = environment(options.archives)[0]
    if options.ui:
        chosen["spark.ui.enabled"] = "true"
    return chosen
