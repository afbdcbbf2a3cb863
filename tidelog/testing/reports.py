"""What is said of tests: as text for people, and as JUnit XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence

from tidelog.plans.diagnostics.visible import visible
from tidelog.testing.comparing import Difference
from tidelog.testing.coverage import RuleCoverage
from tidelog.testing.files import TestSuite
from tidelog.testing.running import Outcome

_AROUND = 3
"""How many lines that agree are shown before and behind one that does not."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def failure_lines(outcome: Outcome) -> Iterator[str]:
    """Why a test did not pass, a line each."""
    if outcome.error:
        yield f"  {visible(outcome.error)}"
    for difference in outcome.differences:
        yield f"  {difference.what} (- expected, + told):"
        yield from (f"    {visible(line)}" for line in _diff(difference))
    yield from (f"  note: {visible(note)}" for note in outcome.notes)


def _diff(difference: Difference) -> Iterator[str]:
    """The lines of a difference; of many that agree, those beside what differs."""
    lines = difference.lines
    near = {at + step for at, line in enumerate(lines) if line[0] != " " for step in range(-_AROUND, _AROUND + 1)}
    skipped = 0
    for at, (sign, text, record) in enumerate(lines):
        if at not in near:
            skipped += 1
            continue
        yield from _skipped(skipped)
        skipped = 0
        yield f"{sign} {text}"
        if sign != " " and record is not None:
            yield from (f"      {reason}" for reason in difference.reasons.get(record, ()))
    yield from _skipped(skipped)


def _skipped(number: int) -> Iterator[str]:
    if number:
        yield f"  ... {number} more agree{'s' if number == 1 else ''}"


def coverage_lines(program: str, rules: Sequence[RuleCoverage]) -> Iterator[str]:
    """Each rule with the number of tests in which it fired."""
    fired = sum(bool(rule.tests) for rule in rules)
    yield f"coverage of {visible(program)}: {fired} of {len(rules)} rules fired"
    for rule in rules:
        tests = (
            "not run" if rule.tests is None else "never" if not rule.tests else f"{rule.tests} test{'s' * (rule.tests > 1)}"
        )
        yield f"  {tests:>8}  {rule.line:>4}: {visible(rule.rule)}"


def junit(suites: Iterable[tuple[TestSuite, Sequence[Outcome]]], broken: Iterable[tuple[str, str]]) -> str:
    """The outcomes as JUnit XML, a suite for each file; `broken` are files that could not be read, and why."""
    root = ET.Element("testsuites", name="tidelog")
    for suite, outcomes in suites:
        element = _suite(root, suite.path, outcomes)
        for outcome in outcomes:
            case = ET.SubElement(element, "testcase", name=_xml(outcome.test.name), classname=_xml(suite.path))
            case.set("file", _xml(suite.path))
            case.set("line", str(outcome.test.line))
            case.set("time", f"{outcome.seconds:.3f}")
            _say(case, outcome)
    for path, reason in broken:
        element = ET.SubElement(root, "testsuite", name=_xml(path), tests="1", failures="0", errors="1", time="0.000")
        case = ET.SubElement(element, "testcase", name=_xml(path), classname=_xml(path), time="0.000")
        ET.SubElement(case, "error", message="the file cannot be used").text = _xml(reason)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(element.get(name, "0")) for element in root)))
    ET.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


def _suite(root: ET.Element, path: str, outcomes: Sequence[Outcome]) -> ET.Element:
    errors = sum(bool(outcome.error) for outcome in outcomes)
    failures = sum(not outcome.passed for outcome in outcomes) - errors
    element = ET.SubElement(root, "testsuite", name=_xml(path), tests=str(len(outcomes)))
    element.set("failures", str(failures))
    element.set("errors", str(errors))
    element.set("time", f"{sum(outcome.seconds for outcome in outcomes):.3f}")
    return element


def _say(case: ET.Element, outcome: Outcome) -> None:
    if outcome.passed:
        return
    kind, message = ("error", outcome.error) if outcome.error else ("failure", "told other facts than expected")
    ET.SubElement(case, kind, message=_xml(message)).text = _xml("\n".join(failure_lines(outcome)))


def _xml(text: str) -> str:
    """Text without what XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
