"""The words of the language with their definitions: shown where the pointer rests, and offered for completion.

The definitions are those of docs/reference/language.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Word:
    """A keyword: how it is written, and what it means. `snippet` is what completion puts in, with places to fill."""

    form: str
    meaning: str
    snippet: str
    kind: Literal["operator", "directive"] = "operator"


WORDS: dict[str, Word] = {
    "diamondminus": Word(
        "diamondminus[a,b] M",
        "holds at t iff M holds at *some* time t' with t − t' in [a,b]: at some time between b and a ago",
        "diamondminus[${1:0},${2:5}] $0",
    ),
    "boxminus": Word(
        "boxminus[a,b] M",
        "holds at t iff M holds at *all* times t' with t − t' in [a,b]: at every time between b and a ago. In a head it "
        "derives backwards",
        "boxminus[${1:0},${2:5}] $0",
    ),
    "diamondplus": Word(
        "diamondplus[a,b] M",
        "holds at t iff M holds at *some* time t' with t' − t in [a,b]: at some time between a and b ahead",
        "diamondplus[${1:0},${2:5}] $0",
    ),
    "boxplus": Word(
        "boxplus[a,b] M",
        "holds at t iff M holds at *all* times t' with t' − t in [a,b]: at every time between a and b ahead. In a head it "
        "derives ahead",
        "boxplus[${1:0},${2:5}] $0",
    ),
    "since": Word(
        "M1 since[a,b] M2",
        "holds at t iff M2 holds at some t' with t − t' in [a,b], and M1 at all times between t' and t",
        "since[${1:0},${2:5}] $0",
    ),
    "until": Word(
        "M1 until[a,b] M2",
        "holds at t iff M2 holds at some t' with t' − t in [a,b], and M1 at all times between t and t'",
        "until[${1:0},${2:5}] $0",
    ),
    "for": Word(
        "M for 10 min",
        "holds where M has held without a break for the last 10 minutes: `boxminus[0,10min] M`. In a head, `H for 10 min` "
        "holds from now on for 10 minutes: `boxplus[0,10min) H`",
        "for ${1:10 min}",
    ),
    "within": Word(
        "M within 10 min",
        "holds where M has held at some time within the last 10 minutes: `diamondminus[0,10min] M`",
        "within ${1:10 min}",
    ),
    "not": Word(
        "not M",
        "holds at t iff M does not hold at t. The variables of M occur positively elsewhere in the rule, but for `_`",
        "not $0",
    ),
    "sometime": Word(
        "sometime M in [n]",
        "holds at t iff M holds at some t' in [t − n, t]. MeTeoR's `SOMETIME[-b,-a] M` is `diamondminus[a,b] M`",
        "sometime $0 in [${1:5}]",
    ),
    "always": Word(
        "always M in [n]",
        "holds at t iff M holds at all t' in [max(start, t − n), t]: the window is clipped where the stream starts, so it "
        "may hold from the first moment on, where `M for 10 min` waits. "
        "MeTeoR's `ALWAYS[-b,-a] M` is `boxminus[a,b] M`",
        "always $0 in [${1:5}]",
    ),
    "in": Word(
        "M in [n], M in [n step d], M in [#n], M in [#n of p, q]",
        "a window: the last n time units; up to the last multiple of d; the last n input facts; those of p and q alone",
        "in [${1:5}]",
    ),
    "over": Word(
        "A = avg(V) over M in [n] by S",
        "holds at t iff A is the aggregate of V over all pairs (row, time point) of M in [t − n, t], for this S; there "
        "is at least one. `count`, `distinct`, `sum`, `avg`, `min`, `max`, `first`, `last`, `stddev`, `quantile`",
        "over $0 in [${1:5}]",
    ),
    "per": Word(
        "A = avg(V) over M per day by S",
        "holds at t iff A is the aggregate over the `hour`, `day`, `week`, `month` or `year` in which t lies, or over the "
        'interval of a calendar: `per shift`. `per day zone "Europe/Berlin"` goes by the clocks there, else by UTC',
        "per ${1:day}",
    ),
    "by": Word("over M in [n] by S", "the variables of M that make the groups of an aggregate or of `latest`", "by $0"),
    "latest": Word(
        "latest temp(S,V) by S in [n]",
        "holds at t iff `temp(S,V)` held at the last time in [t − n, t] at which `temp(S,_)` held: a value that is held",
        "latest $0 in [${1:5}]",
    ),
    "step": Word("M in [n step d]", "the window ends at the last multiple of d that is not after t", "step ${1:1}"),
    "of": Word("M in [#n of p, q]", "the last n input facts of these predicates alone", "of $0"),
    "mod": Word("V mod W", "the remainder of V by W, with the sign of W", "mod $0"),
    "top": Word("top", "always holds", "top"),
    "bottom": Word(
        "bottom :- body", "never holds; as a head, a constraint: where the body holds, there is no model", "bottom"
    ),
    "timeline": Word(
        "timeline integer, unit 1 s.",
        "how time is: `rational` (dense, the default) or `integer` (ticks); with `unit`, what the number 1 means; with "
        "`resolution`, the finest time; with `round`, to which tick a finer time belongs",
        "timeline ${1:integer}, unit ${2:1 s}.",
        "directive",
    ),
    "input": Word(
        "input temp(sensor: text, value: number) delay 2.",
        "what streams bring: names its fields and their types, and says how late its facts may come",
        "input ${1:name}(${2:field}: ${3:text}).",
        "directive",
    ),
    "output": Word(
        "output alarm, spell.", "what goes to the sinks; by default every derived predicate", "output $0.", "directive"
    ),
    "background": Word(
        'background connect from "connect.csv".',
        "facts that hold at all times",
        'background ${1:name} from "${2:file.csv}".',
        "directive",
    ),
    "parameter": Word(
        "parameter LIMIT = 80.",
        "names a constant, so that a run may give it another value (`tidelog backtest --set`)",
        "parameter ${1:LIMIT} = ${2:80}.",
        "directive",
    ),
    "ask": Word(
        "ask malf(X)@T.", "a question: what may still turn out to hold is told (`tidelog ask`)", "ask $0@T.", "directive"
    ),
    "calendar": Word(
        'calendar office = mon-fri 08:00-17:00, zone "Europe/Berlin", except holiday.',
        "a predicate that holds at these times, known at all times: weekdays, times of day, dates, or `each` period",
        'calendar ${1:office} = ${2:mon-fri 08:00-17:00}, zone "${3:Europe/Berlin}".',
        "directive",
    ),
    "each": Word(
        "calendar day(D) = each day.",
        "a calendar that holds at all times, with the name of the `hour`, `day`, `week`, `month` or `year` as its argument",
        "each ${1:day}",
    ),
    "zone": Word(
        'zone "Europe/Berlin"',
        "whose clocks are meant: a zone of the IANA database; without it, UTC",
        'zone "${1:Europe/Berlin}"',
    ),
    "except": Word("except holiday", "the calendar does not hold where one of these calendars does", "except $0"),
    "alarm": Word(
        'alarm hot(room: text), priority high, text "{room} is hot", acknowledge, shelve at most 8 h.',
        "an output with a life cycle: people acknowledge it, shelve it, take it out of service; `hot_state` tells its state",
        'alarm ${1:hot}(${2:room}: ${3:text}), priority ${4:high}, text "${5:{room\\} is hot}", acknowledge.',
        "directive",
    ),
    "priority": Word("priority high", "how urgent an alarm is: `critical`, `high`, `medium` or `low`", "priority ${1:high}"),
    "text": Word('text "{room} is hot"', "what people read of an alarm, with its arguments in braces", 'text "$0"'),
    "acknowledge": Word("acknowledge", "an alarm that has ended stays until somebody has acknowledged it", "acknowledge"),
    "shelve": Word("shelve at most 8 h", "how long people may hide an alarm", "shelve at most ${1:8 h}"),
    "inhibited": Word(
        "inhibited by maintenance(room)",
        "an alarm is suppressed by design where this predicate, or calendar, holds; its arguments are those of the alarm",
        "inhibited by $0",
    ),
    "unit": Word("unit 1 s", "what the number 1 means; units are us, ms, s, min, h, d", "unit ${1:1 s}"),
    "resolution": Word("resolution 0.001", "the finest time that the stream has", "resolution ${1:0.001}"),
    "round": Word("round down", "to which tick a finer time in data belongs: `down`, `nearest` or `up`", "round ${1:down}"),
    "delay": Word("delay 2", "how far behind the watermark facts of this input may come", "delay ${1:1}"),
}
"""Each keyword by its name in lower case."""
