"""What always holds: `top`, which is another than a predicate of that name, and comparisons that are so."""

from __future__ import annotations

import tidelog
from tidelog.operators.columns.batch import batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.columns.history import course_of

TEXT = """
timeline integer.
input top(x: text).
input p(x: text).
a(X) :- top(X).
b(X) :- p(X), top.
c :- top, not d.
d :- p(X), top(X).
output a, b, c.
"""


ALONE = """
timeline integer.
input p(x: text).
a :- 2 > 1.
a2(X) :- X = 1 + 2, X > 2.
b :- 1 > 2.
c :- p(X), not a.
output a, a2, b, c.
"""


def told_alike(text: str, records: list[Record]) -> set[Record]:
    """What a session tells; a history in columns, and batch reasoning, tell the same."""
    plan = tidelog.compile(text)
    session = tidelog.Session(plan, emit="final", lateness=9)
    session.push_records(records)
    session.finish()
    found = set(session.pull_records())
    pool = Pool()
    course = course_of(plan, pool, emit="final")
    given = {
        name: batch_of([record[1:] for record in records if record[0] == name], 1, pool)
        for name in {record[0] for record in records}
    }
    assert set(course.tell(given, POS)) == found
    whole = tidelog.Materialisation(tidelog.compile_batch(text))
    whole.load(records)
    whole.run()
    assert {record for record in whole.facts() if record[0] in plan.outputs} == found
    return found


def test_a_predicate_called_top_has_its_own_facts() -> None:
    """In a session, over a history in columns, and in batch reasoning."""
    records: list[Record] = [("top", ("u",), 3, 3), ("p", ("u",), 3, 3), ("p", ("v",), 4, 4)]
    expected = {("a", ("u",), 3, 3), ("b", ("u",), 3, 3), ("b", ("v",), 4, 4), ("c", (), NEG, 2), ("c", (), 4, POS)}
    assert told_alike(TEXT, records) == expected


def test_comparisons_alone_hold_always_or_never() -> None:
    """A body without an atom held nowhere."""
    assert told_alike(ALONE, [("p", ("u",), 3, 3)]) == {("a", (), NEG, POS), ("a2", (3,), NEG, POS)}
