"""What people write when they mean something else: a table of malformed programs, each with the hint that it earns.

The first entry that matches where the parser stopped gives the hint. Each entry's example is a test of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hint:
    """`found` matches the text at the error, `before` the text of the statement that ends there."""

    example: str
    found: str
    help: str
    before: str = ""
    message: str = ""

    def matches(self, before: str, found: str) -> bool:
        """Whether the parser stopped at something of this kind."""
        if not re.match(self.found, found, re.IGNORECASE):
            return False
        return not self.before or re.search(rf"(?:{self.before})\Z", before, re.IGNORECASE) is not None


_IN_INTERVAL = r"[\[(]\s*[+-]?\s*(?:inf|[0-9./]+)\s*[a-z]*"

HINTS: tuple[Hint, ...] = (
    Hint(
        'p(X) :- q(X, "a).',
        r'"(?:[^"\\\n]|\\.)*(?:\n|\Z)',
        'close it with `"`; inside, `\\"` stands for a quote and `\\n` for a line end',
        message="the text is not closed on its line",
    ),
    Hint(
        r'p(X) :- q(X, "a\qb").',
        r'"',
        r"escapes are `\"`, `\\`, `\n`, `\r` and `\t`",
        message="the text holds an unknown escape",
    ),
    Hint(
        "p(X) :- 'q r(X).", r"'", "close it with `'` on the same line", message="the quoted name is empty or not closed"
    ),
    Hint("# a comment", r"#|//", "a comment starts with `%`", before=r"\A\s*"),
    Hint(":- p(X), q(X).", r":-", "a constraint is written `bottom :- body`", before=r"\A\s*"),
    Hint("p(X) <- q(X).", r"<-|<=|->|=>|:=|::=|←|→", "a rule is written `head :- body`", before=r"\A[^<>=:]*"),
    Hint("p :- boxminus[0;4] q.", r";|\.|:", "the ends of an interval are separated by `,`", before=_IN_INTERVAL),
    Hint(
        "p :- boxminus[0,5m] q.",
        r"[a-zµ]+\s*[\]),]",
        "units of time are us, ms, s, min, h and d",
        before=r"[\[(,]\s*[+-]?[0-9./]+\s*",
    ),
    Hint("p :- q and r.", r"and\b|&+|∧", "a conjunction is written with `,`"),
    Hint("p :- q or r.", r"or\b|\|+|∨|;", "write one rule for each alternative"),
    Hint("p :- q, !r.", r"!(?!=)|~|\\\+|¬", "negation is written `not`"),
    Hint("p(X) :- q(X), X == 3.", r"=", "equality is written `=`", before=r"="),
    Hint("p(X) :- q(X), X =< 3.", r"<", "write `<=`", before=r"="),
    Hint("p(X) :- q(X), X => 3.", r">", "write `>=`", before=r"="),
    Hint("p(X) :- q(X), X <> 3.", r">", "write `!=`", before=r"<"),
    Hint("p(X) :- q(X), X ≤ 3.", r"[≤≥≠]", "write `<=`, `>=` or `!=`"),
    Hint("p(X) :- q(?X).", r"\?", "a variable starts upper-case, such as `X`"),
    Hint("p(1+2).", r"[+*/-]", "a fact's arguments are constants: write the result", before=r"\A[^:]*\([^:]*"),
    Hint("p :- q since r[0,2].", r"\[", "an interval stands right after its operator, such as `since[0,2]`"),
    Hint("p :- q(X)).", r"\)|\]", "no bracket is open here: take it away", before=r"[\w)\]]\s*"),
    Hint("p(X) :- q(X), .", r"\Z", "take the last `,` away, or write what follows it", before=r",\s*"),
    Hint("p(a) q(b)", r"[A-Za-z']", "a full stop or a line end separates statements", before=r"\A[^:]*\)\s*"),
    Hint("p(é).", r"[^\x00-\x7f]", "names hold letters a to z, digits and `_`; any other text stands in quotes"),
)


def find_hint(before: str, found: str) -> Hint | None:
    """The hint for a statement that reads `before` up to the error, and `found` from there on."""
    return next((hint for hint in HINTS if hint.matches(before, found)), None)
