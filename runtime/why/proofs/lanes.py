"""A proof as lanes of a picture: its fact above, each premise below it."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.data.intervals import Range
from tidelog.runtime.why.proofs.certificate import Writer
from tidelog.runtime.why.proofs.picture import Lane
from tidelog.runtime.why.proofs.proof import AGGREGATE, PARTS, Proof
from tidelog.runtime.why.proofs.support import Absence


def lanes_of(proof: Proof, writer: Writer) -> Iterator[Lane]:
    """A lane for each fact and absence, with the times that the rule above it looks at."""
    seen: set[int] = set()
    waiting: list[tuple[Proof | Absence, int, Range | None]] = [(proof, 0, None)]
    while waiting:
        each, level, window = waiting.pop()
        if isinstance(each, Absence):
            yield Lane(f"not {writer.absence(each)}", "absent", level, "absent", (each.lo, each.hi), window)
            continue
        label = writer.proof(each)
        is_given = not each.is_rule and each.by not in (PARTS, AGGREGATE)
        yield Lane(label, each.by, level, "given" if is_given else "holds", (each.lo, each.hi), window)
        if id(each) in seen:
            continue
        seen.add(id(each))
        below = list(zip(each.premises, each.windows, strict=True))
        waiting += [(premise, level + 1, times) for premise, times in reversed(below)]
