"""A proof as an indented tree of text, in the words of the user's rules."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.data.facts import format_constant
from tidelog.runtime.why.evidence.grounding import OTHER
from tidelog.runtime.why.proofs.certificate import Writer
from tidelog.runtime.why.proofs.proof import PARTS, Proof
from tidelog.runtime.why.proofs.support import Absence, Total

_DEEPEST = 30
"""What lies deeper is not moved further to the right."""


def tree(proof: Proof, writer: Writer) -> str:
    """The proof, a line for each fact, with its premises below it; what has been shown is not shown again."""
    return "\n".join(_lines(proof, writer))


def _lines(proof: Proof, writer: Writer) -> Iterator[str]:
    shown: set[int] = set()
    waiting: list[tuple[Proof | Absence, int]] = [(proof, 0)]
    while waiting:
        each, level = waiting.pop()
        indent = "  " * min(level, _DEEPEST)
        if isinstance(each, Absence):
            where = "".join(f", {name} = {value}" for name, value in each.times)
            yield f"{indent}not {writer.absence(each)}  (absent{where})"
            continue
        fact = writer.proof(each)
        if each.total is not None:
            yield f"{indent}{fact}{_more(each.total)}"
            waiting += [(below, level + 1) for below in reversed(each.premises)]
        elif not each.is_rule and each.by != PARTS:
            yield f"{indent}{fact}  ({each.by})"
        elif id(each) in shown:
            yield f"{indent}{fact}  (shown above)"
        elif each.by == PARTS:
            yield f"{indent}{fact}  in {len(each.premises)} parts:"
            waiting += [(below, level + 1) for below in reversed(each.premises)]
        else:
            shown.add(id(each))
            yield f"{indent}{fact}"
            yield f"{indent}  by {each.by}{_values(each)}"
            waiting += [(below, level + 1) for below in reversed(each.premises)]


def _more(total: Total) -> str:
    """What an aggregate is worked out from besides what is shown."""
    if total.more is None:
        return "  (of these, and of more that go on for ever)"
    return f"  (of these and {total.more:,} more)" if total.more else ""


def _values(proof: Proof) -> str:
    """The values of the rule's variables, without those of wildcards."""
    named = [
        f"{name} = {format_constant(value)}"
        for name, value in sorted(proof.binding.items())
        if not name.startswith("_") and value != OTHER
    ]
    return f"  where {', '.join(named)}" if named else ""
