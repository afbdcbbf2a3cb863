"""A proof as data: what `tidelog why` prints as JSON, and `tidelog verify` checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tidelog.plans.data.facts import Row, format_atom, format_predicate
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.explaining.wording import Wording
from tidelog.plans.language.printing import format_formula, format_term
from tidelog.plans.tree.syntax import Aggregate, Atom, Comparison, Conjunction, Constant, Formula, Negation, Unary
from tidelog.runtime.why.proofs.proof import Proof
from tidelog.runtime.why.proofs.support import Absence, Total

MOST_NODES = 2_000
"""A proof with more nodes is written as a list of lemmas."""
MOST_LEVELS = 100
"""So is one that is deeper."""
LEMMA = "lemma"
"""What a fact is known by that a lemma of the certificate has proved."""

Certificate = dict[str, Any]


class Writer:
    """Writes the facts of one timeline as text that a program can hold, and formulas, in the words of a program if told."""

    def __init__(
        self, timeline: Timeline, at: Callable[[int, int], str] | None = None, wording: Wording | None = None
    ) -> None:
        self._at = timeline.format_range if at is None else at
        self._wording = Wording(()) if wording is None else wording

    def atom(self, predicate: str, row: Row) -> str:
        """A row as a fact has it, without its time."""
        return format_atom(predicate, row)

    def fact(self, predicate: str, row: Row, lo: int, hi: int) -> str:
        """A row with its times: `p(a)@[1,2)`."""
        return f"{self.atom(predicate, row)}@{self._at(lo, hi)}"

    def absence(self, absence: Absence) -> str:
        """What was absent, and when: `q(a,_)@[1,2]`."""
        return self.held(absence.formula, absence.lo, absence.hi)

    def total(self, total: Total) -> str:
        """The value of an aggregate, and when: `15 = avg(V) over temp(a, V) in [10]@[4,10]`."""
        return f"{self.valued(total.formula)}@{self._at(total.lo, total.hi)}"

    def proof(self, proof: Proof) -> str:
        """What a proof proves."""
        if proof.total is not None:
            return self.total(proof.total)
        return self.fact(proof.predicate, proof.row, proof.lo, proof.hi)

    def formula(self, formula: Formula) -> str:
        """A formula, with values for its variables; an atom as a fact has it."""
        worded = self._wording.of(formula)
        if isinstance(worded, Negation) and _ends_in_words(worded.operand):
            return f"not ({format_formula(worded.operand)})"
        return _compact(worded) if isinstance(worded, Atom) else format_formula(worded)

    def valued(self, formula: Formula) -> str:
        """The same, with its value before an aggregate."""
        return _value_text(self._wording.of(formula)) if isinstance(formula, Conjunction) else self.formula(formula)

    def held(self, formula: Formula, lo: int, hi: int) -> str:
        """A formula with its times; `for 5 min` in parentheses, so that these are not taken for others."""
        text = self.formula(formula)
        return f"{f'({text})' if _ends_in_words(self._wording.of(formula)) else text}@{self._at(lo, hi)}"

    def times(self, lo: int, hi: int) -> str:
        """A range alone."""
        return self._at(lo, hi)


def _ends_in_words(formula: Formula) -> bool:
    return isinstance(formula, Unary) and bool(formula.word)


def _compact(atom: Atom) -> str:
    """An atom, of which arguments are values or wildcards, as a fact has it."""
    if atom.at is not None or not atom.arguments:
        return format_formula(atom)
    return f"{format_predicate(atom.predicate)}({','.join(map(format_term, atom.arguments))})"


def _value_text(formula: Formula) -> str:
    """An aggregate with its value before it, as a program could have it."""
    match formula:
        case Conjunction(parts=(Aggregate() as aggregate, Comparison(right=Constant() as value))):
            text = format_formula(aggregate).removeprefix(f"{aggregate.result.name} = ")
            return f"{format_term(value)} = {text}"
    return format_formula(formula)


def absent(absence: Absence, writer: Writer) -> Certificate:
    """An absence as a node, with the values of the time variables that are left in it."""
    node: Certificate = {"absent": writer.absence(absence)}
    return {**node, "where": dict(absence.times)} if absence.times else node


def certificate(proof: Proof, writer: Writer) -> Certificate:
    """The proof as a tree. One that is too large or too deep has its facts proved in `lemmas`, of which each rests on those
    before it; then `proof` is the last step."""
    told: Certificate = {"holds": True, "fact": writer.proof(proof)}
    if _is_small(proof):
        return {**told, "proof": _tree(proof, writer)}
    *below, last = in_order(proof)
    lemmas = [_step(each, writer) for each in below if each.is_rule]
    return {**told, "lemmas": lemmas, "proof": _step(last, writer)}


def _node(proof: Proof, writer: Writer, premises: list[Certificate], by: str) -> Certificate:
    if proof.total is None:
        return {"fact": writer.proof(proof), "by": by, "premises": premises}
    more = "inf" if proof.total.more is None else proof.total.more
    return {"aggregate": writer.proof(proof), "premises": premises, "more": more}


def _tree(proof: Proof | Absence, writer: Writer) -> Certificate:
    if isinstance(proof, Absence):
        return absent(proof, writer)
    return _node(proof, writer, [_tree(each, writer) for each in proof.premises], proof.by)


def _step(proof: Proof, writer: Writer) -> Certificate:
    """One step, its derived premises known by lemmas."""
    return _node(proof, writer, [_premise(each, writer) for each in proof.premises], proof.by)


def _premise(proof: Proof | Absence, writer: Writer) -> Certificate:
    """A premise of a step: a lemma, or what was given; of an aggregate those that it is worked out from."""
    if isinstance(proof, Absence):
        return absent(proof, writer)
    below = [_premise(each, writer) for each in proof.premises] if proof.total is not None else []
    return _node(proof, writer, below, LEMMA if proof.is_rule else proof.by)


def _is_small(proof: Proof) -> bool:
    """Whether a proof is neither too deep nor too large, what it shares counted as often as it stands there."""
    nodes = 0
    level: list[Proof | Absence] = [proof]
    for _ in range(MOST_LEVELS):
        nodes += len(level)
        if nodes > MOST_NODES:
            return False
        level = [each for above in level if isinstance(above, Proof) for each in above.premises]
        if not level:
            return True
    return False


def in_order(proof: Proof) -> Iterator[Proof]:
    """Each proof once, behind those that it rests on."""
    done: set[int] = set()
    waiting: list[tuple[Proof, bool]] = [(proof, False)]
    while waiting:
        each, is_ready = waiting.pop()
        if id(each) in done:
            continue
        if is_ready:
            done.add(id(each))
            yield each
            continue
        waiting.append((each, True))
        waiting += [(below, False) for below in reversed(each.premises) if isinstance(below, Proof)]
