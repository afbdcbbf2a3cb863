"""Answers as bytes: groups that became known together, as a run stores them until every sink has taken them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.facts import Record
from tidelog.plans.data.forms import TOLD, brought_up
from tidelog.plans.diagnostics.errors import SnapshotError, SpecError
from tidelog.plans.plan.questions import GroundLiteral, HypotheticalAnswer, Open
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Value, Variable, Wildcard
from tidelog.runtime.ports.interfaces import AnyAnswer

_LEVEL = 1
MOST_BYTES = 1 << 30
"""How many bytes a block may have once it is unpacked."""


class Group(NamedTuple):
    """Answers number `first`, `first + 1` …, which became known when the stream was complete up to `frontier` (encoded)."""

    first: int
    frontier: int
    answers: Sequence[AnyAnswer]

    @property
    def last(self) -> int:
        """The number of the last of them."""
        return self.first + len(self.answers) - 1


class _Stored(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A group: the facts, or changes, come before what is known of questions; so many changes, the first, are taken back."""

    first: int
    frontier: int
    are_changes: bool
    facts: Sequence[tuple[str, tuple[Value, ...], int, int]]
    hypothetical: list[dict[str, Any]]
    retracted: int = 0


_VERSION = bytes([TOLD.version])
"""What a block begins with."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_Stored]).decode


def pack_told(groups: Sequence[Group]) -> bytes:
    """Groups as bytes."""
    return _VERSION + zlib.compress(_encode([_stored(group) for group in groups]), _LEVEL)


def unpack_told(data: bytes) -> list[Group]:
    """What was packed, also by an older version; SnapshotError where it is anything else."""
    try:
        packed = zlib.decompressobj().decompress(data[1:], MOST_BYTES)
        if data[:1] == _VERSION:
            stored = _decode(packed)
        else:
            found = brought_up(TOLD, msgspec.msgpack.decode(packed), data[0], "the answers that are owed")
            stored = msgspec.convert(found, list[_Stored])
        return [_group(group) for group in stored]
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError, ValueError, SpecError) as error:
        raise SnapshotError(f"the answers that are owed are damaged: {error}") from error


def _stored(group: Group) -> _Stored:
    facts = [answer for answer in group.answers if not isinstance(answer, HypotheticalAnswer)]
    asked = [plain_hypothetical(answer) for answer in group.answers if isinstance(answer, HypotheticalAnswer)]
    retracted = sum(isinstance(fact, RetractedChange) for fact in facts)
    return _Stored(group.first, group.frontier, bool(facts) and isinstance(facts[0], ChangeRecord), facts, asked, retracted)


def _group(stored: _Stored) -> Group:
    facts: list[Record] = list(stored.facts)
    if stored.are_changes:
        facts = [(RetractedChange if i < stored.retracted else ChangeRecord)(*fact) for i, fact in enumerate(facts)]
    return Group(stored.first, stored.frontier, [*facts, *map(read_hypothetical, stored.hypothetical)])


# --- answers to questions -------------------------------------------------------------------------------------------


def plain_hypothetical(answer: HypotheticalAnswer) -> dict[str, Any]:
    """What is known of an answer to a question, as plain data."""
    return {
        "query": answer.query,
        "answer": dict(answer.answer),
        "status": answer.status,
        "evidence": [_plain_literal(item) for item in answer.evidence],
        "hypotheses": [_plain_literal(item) for item in answer.hypotheses],
        "at": answer.at,
        "deadline": answer.deadline,
        "failed": None if answer.failed is None else _plain_literal(answer.failed),
        "where": [[item.operator, _plain_term(item.left), _plain_term(item.right)] for item in answer.where],
        "group": answer.group,
    }


def read_hypothetical(data: Mapping[str, Any]) -> HypotheticalAnswer:
    """The answer of which that is the plain data."""
    parts: dict[str, Any] = dict(data)
    parts["evidence"] = tuple(map(_literal, data["evidence"]))
    parts["hypotheses"] = tuple(map(_literal, data["hypotheses"]))
    parts["failed"] = None if data["failed"] is None else _literal(data["failed"])
    parts["where"] = tuple(Comparison(operator, _term(left), _term(right)) for operator, left, right in data["where"])
    return HypotheticalAnswer(**parts)


def _plain_literal(literal: GroundLiteral) -> list[Any]:
    arguments = [_plain_open(argument) for argument in literal.arguments]
    until = None if literal.until is None else _plain_open(literal.until)
    return [literal.predicate, arguments, _plain_open(literal.time), literal.negated, literal.shown, until]


def _literal(data: Sequence[Any]) -> GroundLiteral:
    predicate, arguments, time, negated, shown, until = data
    return GroundLiteral(predicate, tuple(map(_open, arguments)), _open(time), negated, shown, _open(until))


def _plain_open(value: Value | Open) -> Any:
    return [value.name, value.offset] if isinstance(value, Open) else value


def _open(value: Any) -> Any:
    return Open(*value) if isinstance(value, list) else value


def _plain_term(term: Expression) -> Any:
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Variable):
        return {"variable": term.name}
    return {"anonymous": True} if isinstance(term, Wildcard) else [term.operator, *map(_plain_term, term.operands)]


def _term(data: Any) -> Expression:
    if isinstance(data, dict):
        return Variable(data["variable"]) if "variable" in data else Wildcard()
    return Arithmetic(data[0], tuple(map(_term, data[1:]))) if isinstance(data, list) else Constant(data)
