"""From what the parser holds of a calendar to its declaration: weekdays, dates, times of day, zone, exceptions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from lark import Token

from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.language.drafts import cover
from tidelog.plans.tree import syntax
from tidelog.plans.tree.literals import DAYS, MONTHS, read_text, refuse, token_span

_DAY = 24 * 60 * 60
_ANY_LEAP_YEAR = 2000


@dataclass(frozen=True, slots=True)
class Each:
    period: syntax.PeriodName
    span: Span


@dataclass(frozen=True, slots=True)
class Zone:
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Except:
    """A calendar that is left out; `is_said` where the word stands before it, and not only before the one before it."""

    predicate: str
    is_said: bool
    span: Span


def calendar_of(items: list[Any]) -> syntax.CalendarDeclaration:
    """The declaration of its parts, in any order; raises Refusal for what does not go together."""
    name, path = items[1], ""
    fields: tuple[syntax.Field, ...] = ()
    daily: list[syntax.Daily] = []
    each: Each | None = None
    zone: Zone | None = None
    excepted: list[str] = []
    before: Any = None
    for item in items[2:]:
        match item:
            case tuple():
                fields = item
            case Token(type="COMPARE") if item != "=":
                raise refuse(token_span(item), f"expected `=`, found `{item}`")
            case Token(type="STRING"):
                path = read_text(item)
            case syntax.Daily():
                daily.append(item)
            case Each():
                each = _once("each", each, item)
            case Zone():
                zone = _once("zone", zone, item)
            case Except():
                if not item.is_said and not isinstance(before, Except):
                    help = "weekdays are written `mon-fri`, times of day `08:00-17:00`, dates `2026-12-24` or `dec 24`"
                    raise refuse(item.span, f"`{item.predicate}` is no part of a calendar", help=help)
                excepted.append(item.predicate)
        before = item
    span = cover([items[0], name])
    _check_parts(span, fields, daily, each, path)
    return syntax.CalendarDeclaration(
        predicate=name.text,
        fields=fields,
        daily=tuple(daily),
        each="" if each is None else each.period,
        path=path,
        zone="" if zone is None else zone.name,
        excepted=tuple(excepted),
        span=span,
    )


def _once(word: str, before: Any, item: Any) -> Any:
    if before is not None:
        raise refuse(item.span, f"`{word}` is given twice")
    return item


def _check_parts(
    span: Span, fields: tuple[syntax.Field, ...], daily: list[syntax.Daily], each: Each | None, path: str
) -> None:
    if bool(daily) + (each is not None) + bool(path) > 1:
        where = each.span if each is not None else daily[0].span
        raise refuse(where, "a calendar is made of times of day, of `each` period, or of a file: of one of them")
    if not (daily or each or path):
        raise refuse(span, "the calendar does not say when it holds", help="such as `mon-fri 08:00-17:00`, or `each day`")
    if len(fields) > 1 or (fields and daily):
        help = '`calendar day(D) = each day.` names each period, `calendar holiday(What) from "holidays.ics".` each event'
        raise refuse(span, "only the name of a period, or of an event, can be an argument of a calendar", help=help)


def daily_of(tokens: list[Token]) -> syntax.Daily:
    """Weekdays, dates and times of day as written side by side."""
    days: list[tuple[int, int]] = []
    dates: list[tuple[str, str]] = []
    times: list[tuple[int, int]] = []
    for token in tokens:
        match token.type:
            case "DAYS":
                ends = [DAYS.index(end.strip().lower()[:3]) for end in token.split("-")]
                days.append((ends[0], ends[-1]))
            case "DATES":
                dates.append(_dates(token))
            case "YEARLY":
                dates.append(_yearly(token))
            case _:
                begin, end = token.split("-")
                times.append((_time_of_day(token, begin, is_end=False), _time_of_day(token, end, is_end=True)))
    return syntax.Daily(tuple(days), tuple(dates), tuple(times), cover(tokens))


def _dates(token: Token) -> tuple[str, str]:
    ends = re.split(r"\s+to\s+", token, flags=re.IGNORECASE)
    for end in ends:
        try:
            date.fromisoformat(end)
        except ValueError as error:
            raise refuse(token_span(token), f"`{end}` is no date: {error}") from None
    if ends[0] > ends[-1]:
        raise refuse(token_span(token), f"`{token}` ends before it begins")
    return ends[0], ends[-1]


def _yearly(token: Token) -> tuple[str, str]:
    """`dec 24-26` and `dec 24-jan 2`, as `12-24` and so on."""
    month, ends = "", []
    for end in token.lower().split("-"):
        words = end.split()
        month = words[0] if len(words) > 1 else month
        number, day = MONTHS.index(month) + 1, int(words[-1])
        try:
            date(_ANY_LEAP_YEAR, number, day)
        except ValueError:
            raise refuse(token_span(token), f"`{month} {day}` is no date in any year") from None
        ends.append(f"{number:02}-{day:02}")
    return ends[0], ends[-1]


def _time_of_day(token: Token, text: str, *, is_end: bool) -> int:
    parts = [int(part) for part in text.strip().split(":")]
    hours, minutes, seconds = (*parts, 0)[:3]
    found = (hours * 60 + minutes) * 60 + seconds
    if minutes > 59 or seconds > 59 or found > (_DAY if is_end else _DAY - 1):
        raise refuse(token_span(token), f"`{text.strip()}` is no time of day", help="a day goes from 00:00 to 24:00")
    return found
