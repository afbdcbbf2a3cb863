"""What is shown where the pointer rests: what a predicate is, its delay and its memory; what a word means, and says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidelog.editing.document import Findings
from tidelog.editing.names import Mention, Names
from tidelog.editing.sentences import lasting_at
from tidelog.editing.words import WORDS
from tidelog.plans.data.facts import format_predicate
from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.language.printing import format_statement, format_times
from tidelog.plans.tree import syntax
from tidelog.plans.tree.declared.alarms import STATES, Alarm

_MOST_RULES = 5
"""How many rules of a predicate are shown."""
_COMMENTED = ("input", "background", "calendar", "alarm", "head")
"""Where a comment above tells what a predicate is."""
_WORD = re.compile(r"[A-Za-z]+")


def hover_text(names: Names, findings: Findings | None, offset: int) -> tuple[str, Span] | None:
    """Markdown on what stands at a place, and where that begins and ends; None where there is nothing to say."""
    lasting = lasting_at(names, offset)
    if lasting is not None:
        return lasting
    word = _keyword_at(names, offset)
    if word is not None:
        known = WORDS[names.text[word.start : word.end].lower()]
        return f"```tide\n{known.form}\n```\n{known.meaning}", word
    mention = names.at(offset)
    if mention is None:
        return None
    if mention.role == "variable":
        return f"variable `{mention.name}` of this rule, mentioned {_times(len(names.same(mention)))}", mention.span
    return "\n\n".join(_predicate(names, findings, mention)), mention.span


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _keyword_at(names: Names, offset: int) -> Span | None:
    """The keyword at a place: what the parser took for one, or in a statement that cannot be read what looks like one."""
    found = next((match for match in _WORD.finditer(names.text) if match.start() <= offset <= match.end()), None)
    number = names.statement_at(offset)
    if found is None or found[0].lower() not in WORDS or number is None or offset > names.raws[number].end:
        return None
    reading, begin = names.readings[number], names.raws[number].start
    if reading is not None:
        span = (found.start() - begin, found.end() - begin)
        kinds = {token.type for token in reading.tokens if (token.start_pos, token.end_pos) == span}
        if not _is_keyword(found[0], kinds, names.at(offset) is not None):
            return None
    return Span(*found.span())


def _is_keyword(word: str, kinds: set[str], is_name: bool) -> bool:
    """Whether a word is a token of its own, and no name: not part of a text, no predicate, no constant, no field."""
    if word.lower() in ("top", "bottom"):
        return "NAME" in kinds and not is_name
    return bool(kinds) and kinds.isdisjoint({"NAME", "PLAIN", "FIELD", "QUOTED"})


def _predicate(names: Names, findings: Findings | None, mention: Mention) -> Iterator[str]:
    """What a predicate is: a paragraph each."""
    name = mention.name
    places = names.of(name)
    yield f"```tide\n{_form(names, name)}\n```"
    yield _state(alarm) if (alarm := names.alarm_of(name)) is not None else ", ".join(_kinds(names, places))
    comments = (names.comment_above(item.statement) for item in places if item.role in _COMMENTED)
    comment = next((text for text in comments if text), "")
    if comment:
        yield comment
    rules = [item.statement for item in places if item.role == "head"]
    if findings is not None and rules and findings.delay(name):
        yield f"**delay** {findings.delay(name)}"
    if findings is not None and findings.memory(name):
        yield f"**memory** a fact matters for {findings.memory(name)}"
    if rules:
        yield "```tide\n" + "\n".join(_rules(names, rules)) + "\n```"


def _form(names: Names, name: str) -> str:
    """The predicate with its fields, as it is declared, or with places for its arguments."""
    for statement in names.statements:
        if isinstance(statement, syntax.Input) and statement.predicate == name:
            return format_statement(statement)
        if isinstance(statement, syntax.Output) and name in dict(statement.named):
            return f"{format_predicate(name)}({', '.join(field.name for field in dict(statement.named)[name])})"
    alarm = next((alarm for alarm in names.alarms if alarm.state == name), None)
    if alarm is not None:
        return f"{format_predicate(name)}({', '.join([*(field.name for field in alarm.declared.fields), 'state'])})"
    arity = names.predicates().get(name) or 0
    return f"{format_predicate(name)}({', '.join(['_'] * arity)})" if arity else format_predicate(name)


def _kinds(names: Names, places: list[Mention]) -> Iterator[str]:
    count = {
        role: sum(item.role == role for item in places)
        for role in ("head", "fact", "input", "background", "calendar", "output", "alarm", "ask")
    }
    if count["input"]:
        yield "input"
    if count["background"]:
        yield "background facts"
    if count["calendar"]:
        yield f"calendar: {_when(names, places[0].name)}"
    if count["fact"]:
        yield f"{count['fact']} fact{'s' * (count['fact'] > 1)} of the program"
    if count["head"]:
        yield f"derived by {count['head']} rule{'s' * (count['head'] > 1)}"
    if not any(count[role] for role in ("input", "background", "calendar", "fact", "head")):
        yield "neither declared nor derived" if _declares(names) else "input (not declared)"
    if count["alarm"]:
        yield from (f"alarm, priority {alarm.declared.priority}" for alarm in names.alarms if alarm.name == places[0].name)
    if count["output"] or (count["head"] and not _chooses(names)):
        yield "output"
    if count["ask"]:
        yield "asked for"


def _state(alarm: Alarm) -> str:
    states = ", ".join(f"`{state}`" for state in STATES)
    return f"of alarm `{alarm.name}`, where it is not normal; its states are {states}"


def _when(names: Names, name: str) -> str:
    """When a calendar holds: `holds mon-fri 08:00-17:00, Europe/Berlin`."""
    calendars = (item for item in names.statements if isinstance(item, syntax.CalendarDeclaration))
    found = next(item for item in calendars if item.predicate == name)
    times = format_times(found) or [f"as `{found.path}` says"]
    excepted = [f"except {format_predicate(item)}" for item in found.excepted]
    return f"holds {', '.join([*times, found.zone or 'UTC', *excepted])}"


def _declares(names: Names) -> bool:
    return any(isinstance(statement, syntax.Input) for statement in names.statements)


def _chooses(names: Names) -> bool:
    return any(isinstance(statement, syntax.Output | syntax.AlarmDeclaration) for statement in names.statements)


def _rules(names: Names, statements: list[int]) -> Iterator[str]:
    for number in statements[:_MOST_RULES]:
        raw = names.raws[number]
        yield " ".join(names.text[raw.start : raw.end].split())
    if len(statements) > _MOST_RULES:
        yield f"% and {len(statements) - _MOST_RULES} more"
