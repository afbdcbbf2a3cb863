"""A lexer for Pygments: programs in colours, in documents (Sphinx, MkDocs) and on the terminal (`pygmentize -l tide`)."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, Punctuation, String, Whitespace

_END = r"(?!\w|[:/]\w)"
_UNIT = r"(?:\s*(?:us|ms|s|min|h|d)(?!\w))?"
_NUMBER = rf"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?{_UNIT}(?!\w)"
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_PERIOD = r"(?:hour|day|week|month|year)(?![\w:/-])"
_NAME = r"[A-Za-z_]\w*(?::\w+)?"


class TideLexer(RegexLexer):  # type: ignore[misc] # Pygments has no types
    """The rule language of tidelog.

    >>> [str(kind) for kind, text in TideLexer().get_tokens("p(X) :- not q(X).") if text in ("p", "X", "not")]
    ['Token.Name.Function', 'Token.Name.Variable', 'Token.Keyword', 'Token.Name.Variable']
    """

    name = "tidelog"
    url = "https://github.com/tidelog/tidelog"
    aliases: ClassVar[list[str]] = ["tide", "tidelog"]
    filenames: ClassVar[list[str]] = ["*.tide"]
    flags = re.MULTILINE | re.IGNORECASE

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"[\s\ufeff]+", Whitespace),
            (r"%[^\n]*", Comment.Single),
            (r'"(?:[^"\\\n]|\\[^\n])*"', String.Double),
            (r"'[^'\n]+'", Name.Function),
            (r"(timeline)(\s+)(rational|integer)\b", bygroups(Keyword.Declaration, Whitespace, Keyword.Type)),
            (r"(?:input|output|background|ask|parameter|calendar|alarm)(?=\s+[A-Za-z_'])", Keyword.Declaration),
            (rf"(?:unit|resolution|delay)(?!\w)(?=\s*{_NUMBER})", Keyword.Declaration),
            (r"(round)(\s+)(down|nearest|up)\b", bygroups(Keyword.Declaration, Whitespace, Keyword.Type)),
            (r'(?:from|zone|text)(?=\s*")', Keyword.Declaration),
            (r"(priority)(\s+)(critical|high|medium|low)\b", bygroups(Keyword.Declaration, Whitespace, Keyword.Type)),
            (r"(shelve)(\s+)(at\s+most)(?=\s*[0-9])", bygroups(Keyword.Declaration, Whitespace, Keyword.Declaration)),
            (r"(inhibited)(\s+)(by)(?=\s+[A-Za-z_'])", bygroups(Keyword.Declaration, Whitespace, Keyword.Declaration)),
            (r"acknowledge(?=\s*[,.](?:\s|\Z))", Keyword.Declaration),
            (rf"(each|per)(\s+)({_PERIOD})", bygroups(Keyword, Whitespace, Keyword.Type)),
            (r"(?:per|except)(?=\s+[A-Za-z_'])", Keyword),
            (rf"{_DAY}(?:\s*-\s*{_DAY}|(?=\s+(?:{_DAY}|{_CLOCK})))(?![\w:/-])", Literal.Date),
            (rf"{_MONTH}[ \t]+[0-9]{{1,2}}(?:\s*-\s*(?:{_MONTH}[ \t]+)?[0-9]{{1,2}})?(?![\w:-])", Literal.Date),
            (rf"{_CLOCK}\s*-\s*{_CLOCK}(?![\w:])", Literal.Date),
            (r"to(?=[ \t]+[0-9]{4}-)", Keyword),
            (rf"(?:diamondminus|diamondplus|boxminus|boxplus|sometime|always){_END}", Keyword),
            (rf"(?:since|until|not|mod){_END}", Keyword),
            (r"in(?=\s*\[)", Keyword),
            (rf"(?:step|for|within)(?!\w)(?=\s*{_NUMBER})", Keyword),
            (r"of(?!\w)(?=[^\]\n]*\])", Keyword),
            (r"over(?!\w)(?=\s*[\w('])|by(?=\s+[A-Z_])|latest(?=\s+[\w'])", Keyword),
            (r"(?:count|distinct|sum|avg|min|max|first|last|stddev|quantile)(?=\s*\([^()]*\)\s*over\b)", Name.Builtin),
            (r"(?:min|max|abs)(?=\s*\()", Name.Builtin),
            (r"(?:top|bottom)(?![\w:(]|\s*\()", Keyword.Constant),
            (r"(:)(\s*)(text|number|integer|boolean|any)\b", bygroups(Punctuation, Whitespace, Keyword.Type)),
            (r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?(?![\w:])", Literal.Date),
            (r"inf(?!\w)", Number),
            (_NUMBER, Number),
            (rf"{_NAME}(?=\s*\()", Name.Function),
            (rf"{_NAME}(?=\s*(?::[-=]|@))", Name.Function),
            (r"(?-i:[A-Z_])\w*", Name.Variable),
            (r"[A-Za-z0-9](?:[\w/-]|:(?=\w))*", Name.Constant),
            (r":[-=]", Operator.Word),
            (r"!=|<=|>=|//|[=<>+*/@#-]", Operator),
            (r"[\[\](),.:]", Punctuation),
        ]
    }
