"""`tidelog peek`: show the first rows of a file as facts, with the declarations and the SPEC that read it.

Of an OPC UA server it shows the nodes (`peek_nodes.py`).
"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace

from tidelog.commands.numbers import whole
from tidelog.commands.outcome import DONE, count, say, write_out
from tidelog.commands.streams.peek_nodes import SCHEME
from tidelog.commands.streams.peek_nodes import run as peek_nodes
from tidelog.compiling import compile as compile_program
from tidelog.connectors.files.batch_files import parse_batch_spec
from tidelog.connectors.files.peeking import Guess, Mixed, Sample, first_facts, guess, identifier_of, sample_of, written
from tidelog.connectors.formats.endings import format_of_path, predicate_of_path
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.spec import Spec, parse_spec
from tidelog.plans.data.facts import Schema, format_atom
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.ports.interfaces import Batch


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("file", metavar="FILE", help="a file: CSV, flat JSON lines or Parquet; or opc.tcp://HOST:PORT")
    parser.add_argument("--predicate", metavar="NAME", help="what its facts are called (default: as the file)")
    parser.add_argument("--rows", type=whole, metavar="N", default=5, help="show the first N facts (default 5)")
    parser.add_argument("--user", metavar="NAME", help="of a server: who asks")
    parser.add_argument("--password-file", metavar="FILE", help="of a server: the file with the user's password")
    parser.add_argument(
        "--security", metavar="TEXT", help="of a server: policy,mode,certificate,key, as in a gateway's file"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what the file probably is, as the beginning of a program, with the rest as comments."""
    if options.file.startswith(SCHEME):
        if options.predicate is not None:
            raise SpecError("`--predicate` is for files: a server's predicates are called as its variables")
        return peek_nodes(options)
    for name in ("user", "password_file", "security"):
        if getattr(options, name) is not None:
            raise SpecError(f"`--{name.replace('_', '-')}` is for servers: `{options.file}` is a file")
    spec = parse_batch_spec(options.file)
    if spec.path == "" or spec.predicate is not None or spec != parse_spec(spec.path):
        raise SpecError(f"`{options.file}` is no file without options: `peek` finds out what the options are")
    try:
        sample = sample_of(spec)
        found = guess(sample)
    except DataError as error:
        raise DataError(error.reason, error.place or spec.path) from None
    predicate = options.predicate or identifier_of(predicate_of_path(spec.path))
    text = _spec_of(spec, predicate, sample, found)
    program, schema, facts = _best(found, predicate, parse_spec(text))
    write_out(_report(program, text, found, schema, facts, options.rows))
    for rejected in facts.rejected[: options.rows]:
        say(f"{rejected.place}: {rejected.reason}")
    if facts.rejected:
        rows = len(facts.records) + len(facts.rejected)
        say(f"note: {len(facts.rejected)} of the first {count(rows, 'row')} cannot be used, and would be passed over")
    for each in found.mixed:
        say(f"note: {_told(each)}")
    return DONE


def _told(mixed: Mixed) -> str:
    """Why a field is text of which most cells are numbers, and how it would be a number."""
    where = f" in line {mixed.line}" if mixed.line else ""
    odd = f"{mixed.number} of {count(mixed.total, 'cell')} {'is' if mixed.number == 1 else 'are'} no number"
    passed = "its row is" if mixed.number == 1 else "their rows are"
    return f"`{mixed.field}` is text, for {odd}: `{mixed.cell}`{where}; with `{mixed.field}: number`, {passed} passed over"


def _spec_of(spec: Spec, predicate: str, sample: Sample, found: Guess) -> str:
    """The SPEC that reads the file."""
    told: dict[str, str] = {}
    if predicate != predicate_of_path(spec.path) or sample.format == "jsonl":
        told["predicate"] = predicate
    options = written({**told, **found.options})
    path = spec.path if format_of_path(spec.path) == sample.format else f"{sample.format}+{spec.path}"
    return f"{path}?{options}" if options else path


def _best(found: Guess, predicate: str, spec: Spec) -> tuple[str, Schema, Batch]:
    """The first of the timelines that holds the most facts: the program's text, its schema, and the facts."""
    fields = ", ".join(f"{name}: {kind}" for name, kind in found.fields.items())
    tried: list[tuple[str, Schema, Batch]] = []
    for timeline in found.timelines:
        program = f"{timeline}\ninput {predicate}({fields}).\n"
        schema = compile_program(program).schema
        tried.append((program, schema, first_facts(replace(spec, predicate=predicate), schema)))
        if not tried[-1][2].rejected:
            break
    return max(tried, key=lambda each: len(each[2].records))


def _report(program: str, spec: str, found: Guess, schema: Schema, facts: Batch, rows: int) -> str:
    lines = [f"% tidelog run PROGRAM --in {shlex.quote(spec)}"]
    if found.is_local:
        lines.append("% Times tell no offset and are read as UTC: `&zone=Europe/Berlin` reads them as a clock's there.")
    times = TimeFormatter(schema.timeline, schema.timeline.unit is not None)
    lines += [f"%   {format_atom(name, row)}@{times.at(lo, hi)}" for name, row, lo, hi in facts.records[:rows]]
    return program + "".join(f"{line}\n" for line in lines)
