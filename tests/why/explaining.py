"""Explaining in tests: a program and facts as text, why a fact holds, and whether the certificate is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.connectors.formats.text.decoder import TextDecoder
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.sessions.explained import explainer_of_stream
from tidelog.runtime.why.absent.why_not import WhyNot
from tidelog.runtime.why.explain import Explainer, Reason
from tidelog.runtime.why.told import telling_all
from tidelog.verifier.certificate import Verifier
from tidelog.verifier.times import Refused


def records(schema: Schema, facts: Iterable[str]) -> list[Record]:
    """Facts such as `p(a)@[1,2)`, encoded."""
    batch = TextDecoder(schema, "facts").decode([fact.encode() for fact in facts], 1)
    assert not batch.rejected, batch.rejected
    return batch.records


def explainer(text: str, facts: Sequence[str]) -> tuple[Explainer, Schema]:
    """What explains facts of a program, and how they are read."""
    program = parse(text)
    try:
        plan = compile_batch(program)
    except ProgramError as error:
        assert {problem.code for problem in error.diagnostics} == {"not-in-batch"}
        stream = telling_all(compile_program(program))
        schema = compile_batch(parse("timeline integer.")).schema
        return explainer_of_stream(stream, records(stream.schema, facts)), schema
    done = Materialisation(plan)
    done.load(records(plan.schema, facts))
    done.run()
    return done.explainer(), plan.schema


def why(text: str, facts: Sequence[str], fact: str, depth: int = 1) -> Reason | WhyNot:
    """Why a fact holds, or why not."""
    found, schema = explainer(text, facts)
    return found.why(records(schema, [fact])[0], depth)


def verifier(text: str, facts: Sequence[str]) -> Verifier:
    """What checks certificates of a program and facts."""
    plan = compile_batch(parse("timeline integer." if "timeline integer" in text else ""))
    decode = plan.timeline.decode_interval
    return Verifier(text, [(name, row, decode(lo, hi)) for name, row, lo, hi in records(plan.schema, facts)])


def refusal(checker: Verifier, certificate: object) -> str | None:
    """Why a certificate is refused; None if it is not."""
    try:
        checker.check(certificate)
    except Refused as refused:
        return str(refused)
    return None
