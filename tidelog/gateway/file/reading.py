"""Reads a gateway's file: every mistake is told with its place, and an unknown key with the nearest that there is."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tidelog.gateway.file.hiding import hide_secrets, is_secret
from tidelog.gateway.file.misfits import allowed, chosen, in_words, kind_at, nearest, place_of
from tidelog.gateway.file.schema import schema_of
from tidelog.gateway.file.settings import GatewaySettings, ProgramSettings
from tidelog.gateway.kinds.table import ENDS, End, names
from tidelog.plans.diagnostics.errors import DataError, Diagnostic, ProgramError, Span
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.testing.toml_places import find_entries

MAX_FILE = 1 << 20
_POSITION = re.compile(r"(.*) \(at line (\d+), column (\d+)\)\Z", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\$|(\{)(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?)")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_MISSING = re.compile(r"[Oo]bject missing required field `(.+)`\Z")
_PROGRAM_KEYS = ("emit", "lateness", "clock", "max_ahead", "idle_after", "workers", "actors")

Place = tuple[str | int, ...]


def read_settings(path: str | os.PathLike[str], environment: Mapping[str, str] = os.environ) -> GatewaySettings:
    """The settings in a file, `${NAME}` and `${NAME:-default}` in its texts taken from the environment.

    ProgramError with every independent reason where they are wrong; DataError for text that is not UTF-8; OSError where
    the file cannot be read.
    """
    with Path(path).open("rb") as stream:
        data = stream.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise DataError(f"a gateway's file has at most {MAX_FILE} bytes", str(path))
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise DataError(f"the file is not UTF-8: {error.reason} at byte {error.start}", str(path)) from None
    return read_text(text, str(path), environment)


def read_text(text: str, name: str, environment: Mapping[str, str]) -> GatewaySettings:
    """The settings of a text; ProgramError as for `read_settings`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProgramError([_broken(text, str(error))], name, hide_secrets(text)) from None
    return _Reader(name, text, environment).settings(data)


def _broken(text: str, message: str) -> Diagnostic:
    match = _POSITION.match(message)
    at = len(text)
    if match is not None:
        message = match[1]
        at = sum(len(line) + 1 for line in text.split("\n")[: int(match[2]) - 1]) + int(match[3]) - 1
    return Diagnostic("toml", f"this is no TOML: {message[:1].lower()}{message[1:]}", Span(at, at + 1))


class _Reader:
    """Reads the data of one file; collects what is wrong with it."""

    def __init__(self, name: str, text: str, environment: Mapping[str, str]) -> None:
        self._name, self._text, self._environment = name, text, environment
        self._entries = find_entries(text)
        self._problems: list[Diagnostic] = []

    def settings(self, data: dict[str, Any]) -> GatewaySettings:
        data = self._filled(data, ())
        schema = schema_of(data, self._refuse_kind)
        self._check_keys(data, msgspec.inspect.type_info(schema), ())
        self._fail_if_wrong()
        try:
            found = msgspec.convert(data, schema)
        except msgspec.ValidationError as error:
            self._problems.append(self._unfit(str(error), data, schema))
            self._fail_if_wrong()
            raise  # unreachable: there is a problem
        found = self._with_programs(found)
        self._check_names(found)
        self._fail_if_wrong()
        return found

    def _fail_if_wrong(self) -> None:
        if self._problems:
            raise ProgramError(sorted(self._problems, key=lambda item: item.span), self._name, hide_secrets(self._text))

    # --- texts ----------------------------------------------------------------------------------------------------------

    def _filled(self, value: Any, place: Place) -> Any:
        """The same with the environment's texts in it."""
        if isinstance(value, dict):
            return {key: self._filled(item, (*place, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item, (*place, i)) for i, item in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            self._problem(place, "bad-value", f"`{place[-1]}`: expected a finite number, got {value}")
        if not isinstance(value, str):
            return value
        filled = _VARIABLE.sub(lambda found: self._variable(found, place), value)
        if "\0" in filled:
            self._problem(place, "bad-value", f"`{place[-1]}`: the text holds a NUL character")
        return filled

    def _variable(self, found: re.Match[str], place: Place) -> str:
        name, default = found[2], found[3]
        if found[1] is None:
            return "$"
        if name is None:
            help = "`$$` stands for a dollar sign"
            self._problem(place, "environment", "`${` is not followed by a name and `}`, such as `${HOST}`", help)
            return ""
        if default is not None:
            return self._environment.get(name) or default
        if name not in self._environment:
            self._problem(place, "environment", f"the environment has no `{name}`", "`$$` stands for a dollar sign")
        return self._environment.get(name, "")

    # --- keys -----------------------------------------------------------------------------------------------------------

    def _check_keys(self, value: Any, kind: msgspec.inspect.Type, place: Place) -> None:
        """Tell every key that the schema does not have."""
        if isinstance(kind, msgspec.inspect.VarTupleType) and isinstance(value, list):
            for i, item in enumerate(value):
                self._check_keys(item, kind.item_type, (*place, i))
        elif isinstance(kind, msgspec.inspect.DictType) and isinstance(value, dict):
            for key, item in value.items():
                self._check_keys(item, kind.value_type, (*place, key))
        elif isinstance(kind, msgspec.inspect.UnionType):
            member = chosen(kind, value)
            if member is not None:
                self._check_keys(value, member, place)
        elif isinstance(kind, msgspec.inspect.StructType) and isinstance(value, dict):
            self._check_struct(value, kind, place)

    def _check_struct(self, value: dict[str, Any], kind: msgspec.inspect.StructType, place: Place) -> None:
        fields = {field.encode_name: field.type for field in kind.fields}
        known = [*fields, *([kind.tag_field] if kind.tag_field else [])]
        for key, item in value.items():
            if key not in known:
                near = suggest(key, known).removeprefix("; ")
                help = near or f"known are {', '.join(sorted(known))}"
                self._problem((*place, key), "unknown-key", f"unknown key `{key}` of {_where(place)}", help)
            elif key in fields:
                self._check_keys(item, fields[key], (*place, key))

    # --- what belongs together -------------------------------------------------------------------------------------------

    def _with_programs(self, found: GatewaySettings) -> GatewaySettings:
        """The same, its only program as one of `programs`."""
        if bool(found.program) == bool(found.programs):
            help = 'say `program = "plant.tide"`, or begin a table `[[programs]]` for each'
            self._problem((), "no-program", "the file names its program, or several, in one way", help)
        if found.programs:
            for key in _PROGRAM_KEYS:
                if getattr(found, key) != getattr(GatewaySettings(), key):
                    self._problem((key,), "misplaced-key", f"`{key}` belongs into the tables `[[programs]]`")
            named = [msgspec.structs.replace(one, name=one.name or Path(one.program).stem) for one in found.programs]
            return msgspec.structs.replace(found, programs=named)
        keys = {key: getattr(found, key) for key in _PROGRAM_KEYS}
        only = ProgramSettings(program=found.program, name=Path(found.program).stem, **keys)
        return msgspec.structs.replace(found, programs=[only])

    def _check_names(self, found: GatewaySettings) -> None:
        """Names tell one from another, and lead to a program."""
        programs = [one.name for one in found.programs]
        ends: dict[str, str] = {}
        for kind, tables in (("programs", found.programs), ("source", found.source), ("sink", found.sink)):
            seen = {} if kind == "programs" else ends
            for i, end in enumerate(tables):
                self._check_name(end.name, (kind, i, "name"), seen)
                seen[end.name] = kind
        for kind, feeding in (("source", found.source), ("sink", found.sink)):
            for i, one in enumerate(feeding):
                if not one.program and len(programs) > 1:
                    self._problem((kind, i, "name"), "no-program", f"`{one.name}` does not say its `program`")
                elif one.program and one.program not in programs:
                    near = suggest(one.program, programs).removeprefix("; ")
                    self._problem((kind, i, "program"), "no-program", f"there is no program `{one.program}`", near)

    def _check_name(self, name: str, place: Place, seen: Mapping[str, str]) -> None:
        """A name is a word that nothing else has: those of sources and sinks are also those of their clients at brokers."""
        kind = place[0]
        if kind != "programs" and (not name or not name.isprintable() or " " in name):
            self._problem(place, "bad-name", f"`name`: expected a word, got `{name}`")
        elif name in seen:
            two = f"two {kind} tables have" if seen[name] == kind else f"a {seen[name]} and a {kind} have"
            self._problem(place, "same-name", f"{two} the name `{name}`")

    # --- places ----------------------------------------------------------------------------------------------------------

    def _refuse_kind(self, end: End, index: int, reason: str) -> None:
        self._problem((end, index, "type"), "bad-kind", reason)

    def _unfit(self, message: str, data: dict[str, Any], schema: type) -> Diagnostic:
        """What `msgspec` says of a value, at its place."""
        message, _, path = message.partition(" - at `$")
        place = place_of(schema, data, [name or index for name, index in _STEP.findall(path.rstrip("`"))])
        message = in_words(message)
        if missing := _MISSING.match(message):
            return self._lacking(missing[1], place, data, schema)
        message = message.replace("invalid enum value", "invalid value").replace("Invalid enum value", "invalid value")
        help = ""
        if place and isinstance(place[-1], str) and is_secret(place[-1]):
            help = 'a secret is not written into the file: say `{ env = "NAME" }` or `{ file = "PATH" }`'
        elif place and isinstance(place[-1], str):
            help = self._allowed(schema, data, place, message.rpartition(" ")[2].strip("'"))
        what = f"`{place[-1]}`: " if place and isinstance(place[-1], str) else ""
        return Diagnostic("bad-value", f"{what}{message[:1].lower()}{message[1:]}", self._span(place), help=help)

    def _lacking(self, key: str, place: Place, data: dict[str, Any], schema: type) -> Diagnostic:
        """A table without a key that it needs."""
        table: Any = data
        for part in place:
            table = table[part]
        name = f" `{table['name']}`" if isinstance(table.get("name"), str) else ""
        help = self._allowed(schema, data, place, "") if key == "type" else ""
        return Diagnostic("missing-key", f"missing key `{key}` of {_where(place)}{name}", self._span(place), help=help)

    def _allowed(self, schema: type, data: dict[str, Any], place: Place, got: str) -> str:
        """What may stand there: of a kind, also what other packages bring."""
        end = next((end for end in ENDS if place and place[0] == end), None)
        if end is not None and len(place) <= 3 and place[2:] in ((), ("type",)):
            return nearest(got, names(end))
        return allowed(kind_at(schema, data, place), got)

    def _problem(self, place: Place, code: str, message: str, help: str = "") -> None:
        self._problems.append(Diagnostic(code, message, self._span(place), help=help))

    def _span(self, place: Place) -> Span:
        """Where a key stands, or, if it stands within a value, that value; of a table, its first key."""
        for length in range(len(place), -1, -1):
            part = place[:length]
            for entry in self._entries:
                if entry.path == part:
                    return entry.key if length == len(place) else entry.value
            within = next(self._within(part), None)
            if within is not None and length < len(place) + 1:
                return within
        return Span(0, 1)

    def _within(self, place: Place) -> Iterator[Span]:
        return (entry.key for entry in self._entries if place and entry.path[: len(place)] == place)


def _where(place: Place) -> str:
    names = [part for part in place if isinstance(part, str)]
    return f"`{'.'.join(names)}`" if names else "the file"
