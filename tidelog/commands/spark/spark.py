"""`tidelog spark`: what is done with Spark: each command has a module of its own."""

from __future__ import annotations

import argparse

from tidelog.commands.spark import archive as spark_archive
from tidelog.commands.spark import run as spark_run


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    subcommands = parser.add_subparsers(metavar="COMMAND", required=True)
    spark_run.add_parser(subcommands)
    spark_archive.add_parser(subcommands)
