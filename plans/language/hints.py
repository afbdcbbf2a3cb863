"""What people write when they mean something else: a table of malformed programs, each with the hint that it earns.

The first entry that matches where the parser stopped gives the hint. Each entry's example is a test of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """The help for one mistake; `message` replaces the parser's own if there is one, `length` is that of the mistake."""

    help: str
    message: str = ""
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Hint:
    """`found` matches the text at the error, `before` the text of the statement that ends there.

    What their named groups match stands for `{name}` in `help` and `message`; the group `word` is the place of the error,
    which otherwise reaches to the end of the line where there is a message.
    """

    example: str
    found: str
    help: str
    before: str = ""
    message: str = ""

    def advise(self, before: str, found: str) -> Advice | None:
        """What to say if the parser stopped at something of this kind."""
        here = re.match(self.found, found, re.IGNORECASE)
        near = before if self.before.startswith(r"\A") else before[-_NEAR:]
        behind = re.search(rf"(?:{self.before})\Z", near, re.IGNORECASE)
        if here is None or behind is None:
            return None
        words = {name: word or "" for name, word in (here.groupdict() | behind.groupdict()).items()}
        length = here.end("word") if "word" in words else None
        return Advice(_fill(self.help, words), _fill(self.message, words), length)


def _fill(template: str, words: Mapping[str, str]) -> str:
    for name, word in words.items():
        template = template.replace(f"{{{name}}}", "".join(word.split()) if name == "time" else word)
    return template


_NEAR = 400
"""How far back a hint looks that does not begin at the statement's start: searching a long text from everywhere is slow."""
_UNITS = "units are us, ms, s, min, h, d; minutes are `min`"
_METRIC = r"diamondminus|diamondplus|boxminus|boxplus|sometime|always|since|until"
_CLOSED = r"(?:[^()\[\]:]|:(?!-)|\([^()]*\)|\[[^()\[\]]*[)\]])*"
_TERM = r"[\w.]+|\"[^\"\n]*\""
_IN_INTERVAL = r"[\[(]\s*[+-]?\s*(?:inf|[0-9./]+)\s*[a-z]*"

HINTS: tuple[Hint, ...] = (
    Hint(
        "input a(x), b(y).",
        r"(?P<word>,)",
        "each input is declared by itself: `input a(x). input b(y).`",
        before=r"\A\s*input\s+(?:\w[\w:]*|'[^'\n]*')\s*(?:\([^()]*\)\s*)?",
        message="a declaration names one input",
    ),
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
    Hint("p(X) :- 'q r(X).", r"'", "close it with `'` on the same line", message="the quoted name is empty or not closed"),
    Hint("# a comment", r"#|//", "a comment starts with `%`", before=r"\A\s*"),
    Hint(":- p(X), q(X).", r":-", "a constraint is written `bottom :- body`", before=r"\A\s*"),
    Hint("p(X) <- q(X).", r"<-|<=|->|=>|:=|::=|←|→", "a rule is written `head :- body`", before=r"\A[^<>=:]*"),
    Hint(
        "p(X) :- q(X) in [0,3].",
        r",\s*(?P<end>[0-9./]+)",
        "a window is one length: `in [{end}]`; an interval goes with an operator: `diamondminus[{begin},{end}] p(X)`",
        before=r"\bin\s*\[\s*(?P<begin>[0-9./]+)\s*",
    ),
    Hint("p :- boxminus[0..4] q.", r"\.\.", "the ends of an interval are separated by `,`"),
    Hint("p :- boxminus[0;4] q.", r";|\.|:", "the ends of an interval are separated by `,`", before=_IN_INTERVAL),
    Hint(
        "p :- boxminus[0,5m] q.",
        r"(?P<word>[a-zµ]+)\s*[\]),]",
        _UNITS,
        before=r"[\[(,]\s*[+-]?[0-9./]+\s*",
        message="`{word}` is no unit",
    ),
    Hint(
        "timeline integer, unit 1 m.",
        r"(?P<word>[a-zµ]+)",
        _UNITS,
        before=r"\b(?:unit|resolution|delay)\s+[0-9./]+\s*",
        message="`{word}` is no unit",
    ),
    Hint(
        "p(X), q(X) :- r(X).",
        r",.*?:-",
        "one head a rule: write a rule for each, with the same body",
        before=rf"\A{_CLOSED}",
    ),
    Hint(
        "p(S) :- q(S, V), 3 < V < 5.",
        rf"(?P<second>[<>]=?|!=|=)\s*(?P<last>{_TERM})",
        "write `{low} {first} {middle}, {middle} {second} {last}`",
        before=rf"(?<![\w.\"])(?P<low>{_TERM})\s*(?P<first>[<>]=?|!=|=)\s*(?P<middle>{_TERM})\s*",
    ),
    Hint(
        "p(S) :- diamondminus 5 q(S).",
        r"(?!(?:us|ms|s|min|h|d)\b)[A-Za-z'(]|(?P<unit>(?:us|ms|s|min|h|d)\b)",
        "an interval stands in brackets: `{operator}[0,{time}{unit}]`",
        before=rf"\b(?P<operator>{_METRIC})\s*(?P<time>[0-9.]+)\s*",
    ),
    Hint(
        "p(S) :- q(S, V), V > 80 C.",
        r"(?!(?:and|or|in|since|until|mod|for)\b)[A-Za-z°%]\w{0,3}(?!\w|\s*\()",
        "a number in a comparison has no unit: write it alone, and the unit in a comment",
        before=r"(?:[<>]=?|=)\s*[0-9.]+\s*",
    ),
    Hint("p :- q and r.", r"and\b|&+|∧", "a conjunction is written with `,`"),
    Hint("p :- q or r.", r"or\b|\|+|∨|;", "write two rules with the same head, one for each alternative"),
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
    Hint("p(X) :- q(X), X > −5.", r"[−–—]", "a minus is written `-`"),
    Hint("p(é).", r"[^\x00-\x7f]", "names hold letters a to z, digits and `_`; any other text stands in quotes"),
)


def find_advice(before: str, found: str) -> Advice | None:
    """The advice for a statement that reads `before` up to the error, and `found` from there on."""
    return next((advice for hint in HINTS if (advice := hint.advise(before, found)) is not None), None)
