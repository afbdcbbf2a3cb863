"""What may be written at a place: variables of the rule, predicates of the program, keywords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tidelog.editing.names import Names
from tidelog.editing.patterns import PATTERNS
from tidelog.editing.words import WORDS
from tidelog.plans.data.facts import format_predicate

_BEFORE = re.compile(r"[A-Za-z0-9_:]*\Z")
_QUOTED = re.compile(r"""(?:[^"'%\n]|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')*\Z""")
_VARIABLE = re.compile(r"(?<![\w\"'])[A-Z]\w*(?!\w*\()")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What may be put in: its label, its text (with places to fill, `${1:x}`, if it is a `snippet`), and what it is."""

    label: str
    text: str
    kind: Literal["predicate", "variable", "keyword", "directive", "pattern"]
    detail: str = ""
    meaning: str = ""


def proposals(names: Names, offset: int) -> list[Proposal]:
    """All that may follow at a place, nothing within texts and comments; the editor chooses by what is written already."""
    line = names.text[names.text.rfind("\n", 0, offset) + 1 : offset]
    if not _QUOTED.match(line):
        return []
    before = names.text[: offset - len(_begun(line))].rstrip()
    if _begins_statement(before, line):
        return [*_predicates(names), *_keywords("directive"), *_keywords("operator"), *_patterns()]
    if _opens_arguments(before):
        return list(_variables(names, offset))
    return [*_variables(names, offset), *_predicates(names), *_keywords("operator")]


def _begun(line: str) -> str:
    match = _BEFORE.search(line)
    return match[0] if match else ""


def _begins_statement(before: str, line: str) -> bool:
    """Whether a statement begins here: behind a full stop, or at the begin of a line that continues nothing."""
    return not before or before.endswith(".") or (not line[:1].isspace() and not before.endswith((",", ":-", "(")))


def _opens_arguments(before: str) -> bool:
    """Whether an atom's arguments begin or go on here."""
    depth = 0
    for at in range(len(before) - 1, max(-1, len(before) - 400), -1):
        depth += {")": 1, "(": -1}.get(before[at], 0)
        if depth < 0:
            return re.search(r"[\w']\Z", before[:at]) is not None
        if before[at] == "\n" and depth == 0 and not before[at + 1 :].strip():
            return False
    return False


def _variables(names: Names, offset: int) -> Iterator[Proposal]:
    """The variables of the statement around a place, also where it cannot be read yet."""
    number = names.statement_at(offset)
    if number is None:
        return
    raw = names.raws[number]
    end = names.raws[number + 1].start if number + 1 < len(names.raws) else len(names.text)
    found = {match[0]: match.end() for match in _VARIABLE.finditer(names.text, raw.start, end)}
    yield from (Proposal(name, name, "variable") for name, behind in found.items() if behind != offset)


def _predicates(names: Names) -> Iterator[Proposal]:
    for name, arity in names.predicates().items():
        written = format_predicate(name)
        places = ", ".join(f"${{{number}:_}}" for number in range(1, (arity or 0) + 1))
        form = f"{written}({', '.join(['_'] * arity)})" if arity else written
        yield Proposal(written, f"{written}({places})" if arity else written, "predicate", form)


def _keywords(kind: str) -> Iterator[Proposal]:
    for name, word in WORDS.items():
        if word.kind == kind:
            yield Proposal(name, word.snippet, "directive" if kind == "directive" else "keyword", word.form, word.meaning)


def _patterns() -> Iterator[Proposal]:
    for name, pattern in PATTERNS.items():
        yield Proposal(name, pattern.snippet, "pattern", meaning=pattern.meaning)
