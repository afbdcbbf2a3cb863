"""Whole rules to fill in: what is asked for most, as the recipes write it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule with places to fill, `${1:x}`, and what it is for."""

    meaning: str
    snippet: str


PATTERNS: dict[str, Pattern] = {
    "rule-for": Pattern(
        "something has held without a break for some time",
        "${1:alarm}(${2:S}) :- ${3:hot}(${2:S}) for ${4:10 min}.$0",
    ),
    "rule-limit": Pattern(
        "a reading passes a limit, and counts until the next one is due",
        "${1:hot}(${2:S}) for ${3:10 s} :- ${4:temp}(${2:S}, ${5:V}), ${5:V} > ${6:80}.$0",
    ),
    "rule-silent": Pattern(
        "something that used to report has sent nothing for some time",
        "${1:silent}(${2:S}) :- ${3:temp}(${2:S}, _) within ${4:10 min}, not ${3:temp}(${2:S}, _) within ${5:1 min}.$0",
    ),
    "rule-missing": Pattern(
        "one thing should have followed another, and has not",
        "${1:missing}(${2:S}) :- diamondminus[${3:1min}] ${4:asked}(${2:S}), "
        "not diamondminus[0,${3:1min}] ${5:answered}(${2:S}).$0",
    ),
    "rule-count": Pattern(
        "something happened at least so often within a time",
        "${1:often}(${2:S}) :- N = count() over ${3:fault}(${2:S}) in [${4:10 min}] by ${2:S}, N >= ${5:3}.$0",
    ),
    "rule-average": Pattern(
        "the average of the readings within a time",
        "${1:mean}(${2:S}, A) :- A = avg(${3:V}) over ${4:temp}(${2:S}, ${3:V}) in [${5:10 min}] by ${2:S}.$0",
    ),
    "rule-hysteresis": Pattern(
        "on above one limit, off below another: needs `high` and `above`, each a reading that passes its limit",
        "${1:warning}(${2:S}) :- ${3:high}(${2:S}).\n"
        "${1:warning}(${2:S}) :- ${4:above}(${2:S}), ${4:above}(${2:S}) since[0,inf) ${3:high}(${2:S}).$0",
    ),
}
"""Each pattern by the word that stands for it."""
