"""A predicate that is called `top` is another than `top`, which always holds."""

from __future__ import annotations

import tidelog
from tidelog.operators.columns.batch import batch_of
from tidelog.operators.columns.pool import Pool
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


def test_a_predicate_called_top_has_its_own_facts() -> None:
    """In a session, over a history in columns, and in batch reasoning."""
    records = [("top", ("u",), 3, 3), ("p", ("u",), 3, 3), ("p", ("v",), 4, 4)]
    expected = {("a", ("u",), 3, 3), ("b", ("u",), 3, 3), ("b", ("v",), 4, 4), ("c", (), NEG, 2), ("c", (), 4, POS)}
    plan = tidelog.compile(TEXT)
    session = tidelog.Session(plan, emit="final", lateness=9)
    session.push_records(records)
    session.finish()
    assert set(session.pull_records()) == expected
    pool = Pool()
    course = course_of(plan, pool, emit="final")
    given = {name: batch_of([record[1:] for record in records if record[0] == name], 1, pool) for name in ("top", "p")}
    assert set(course.tell(given, POS)) == expected
    found = tidelog.Materialisation(tidelog.compile_batch(TEXT))
    found.load(records)
    found.run()
    assert expected <= set(found.facts())
