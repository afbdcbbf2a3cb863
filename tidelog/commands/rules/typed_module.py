"""A Python module that tells type checkers what the outputs of a program hold."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import normalize

from tidelog.plans.data.facts import PredicateSchema, Schema
from tidelog.plans.tree.syntax import FieldType

_TYPES: dict[FieldType, str] = {"text": "str", "number": "float", "integer": "int", "boolean": "bool", "any": "str | float"}
_TAKEN = frozenset([*keyword.kwlist, *keyword.softkwlist, "str", "float", "int", "bool", "ValueError"])
"""What nothing may be called: what the module uses would be hidden by it."""

_LINE = 100
"""How long a line may be that is not broken."""
_HEAD = '''\
"""What the outputs of {program} hold: `typed(answer)` gives an answer's arguments. Written by `tidelog types`."""

from __future__ import annotations

from dataclasses import dataclass
{imports}
import tidelog
'''
_CLASS = '''

@dataclass(frozen=True, slots=True)
class {name}:
    """{told}"""
'''
_TYPED = '''

def typed(answer: tidelog.Answer) -> {union}:
    """The arguments of an answer. ValueError where it is of none of these outputs."""
'''


def typed_module(schema: Schema, outputs: Sequence[str], program: str) -> str:
    """A dataclass for each output, and `typed`, which makes one of an answer. It is strict for type checkers."""
    known = [schema.predicates[name] for name in outputs]
    classes = _distinct(["".join(part[:1].upper() + part[1:] for part in re.split(r"[\W_]+", name)) for name in outputs])
    fields = [_fields(each) for each in known]
    cases = [_case(*each) for each in zip(known, classes, fields, strict=True)]
    imports = "from typing import cast\n" if any("cast(" in case for case in cases) else ""
    text = _HEAD.format(program=_plain(program), imports=imports)
    for each, name, names in zip(known, classes, fields, strict=True):
        text += _CLASS.format(name=name, told=_told(each))
        lines = [f"    {field}: {_TYPES[kind]}\n" for field, kind in zip(names, _kinds(each), strict=True)]
        text += "".join(["\n", *lines] if lines else [])
    text += _TYPED.format(union=" | ".join(classes) or "None")
    if any(each.arity for each in known):
        text += "    row = answer.row\n"
    if cases:
        text += "    match answer.predicate:\n" + "".join(cases)
    return text + f'    raise ValueError(f"`{{answer.predicate}}` is no output of {_plain(program)}")\n'


def _case(known: PredicateSchema, name: str, fields: Sequence[str]) -> str:
    values = [f"{field}={_value(i, kind)}" for i, (field, kind) in enumerate(zip(fields, _kinds(known), strict=True))]
    told = f"            return {name}({', '.join(values)})\n"
    if len(told) > _LINE:
        lines = "".join([f"                {value},\n" for value in values])
        told = f"            return {name}(\n{lines}            )\n"
    return f"        case {_text(known.name)}:\n{told}"


def _value(place: int, kind: FieldType) -> str:
    if kind == "boolean":
        return f'row[{place}] == "true"'
    return f"row[{place}]" if kind == "any" else f'cast("{_TYPES[kind]}", row[{place}])'


def _kinds(known: PredicateSchema) -> Sequence[FieldType]:
    return known.types or ["any"] * known.arity


def _fields(known: PredicateSchema) -> list[str]:
    named = known.fields or tuple(f"arg{i}" for i in range(1, known.arity + 1))
    return _distinct([re.sub(r"\W", "_", name).lstrip("_") for name in named], "arg")


def _distinct(names: Iterable[str], instead: str = "Output") -> list[str]:
    """Names that Python takes, each once: what is taken gets a `_` behind it."""
    found: list[str] = []
    for name in names:
        told = normalize("NFKC", name)
        told = told if told.isidentifier() else f"{instead}{re.sub(r'[^A-Za-z0-9_]', '_', told)}"
        while told in _TAKEN or told in found:
            told += "_"
        found.append(told)
    return found


def _told(known: PredicateSchema) -> str:
    """The output as the program declares it."""
    return _plain("".join(_declared(known)))


def _declared(known: PredicateSchema) -> Iterator[str]:
    yield known.name
    if known.fields:
        pairs = zip(known.fields, _kinds(known), strict=True)
        yield f"({', '.join(name if kind == 'any' else f'{name}: {kind}' for name, kind in pairs)})"


def _plain(text: str) -> str:
    """Text that no string of Python trips over."""
    return "".join(each if each.isprintable() and each not in '\\"{}' else "_" for each in text)


def _text(text: str) -> str:
    """A string of Python."""
    return f'"{text}"' if _plain(text) == text else ascii(text)
