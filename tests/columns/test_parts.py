"""The parts that kernels are made of: values as columns, rows as keys, and times of keys on one axis."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from columns.driving import FAR, maximal
from tidelog.operators.columns.arrays import Array, is_number, np
from tidelog.operators.columns.axis import Axis, in_order
from tidelog.operators.columns.batch import batch_of, joined
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.tree.syntax import Value

BIG = 1 << 53
VALUES: list[Value] = [0, 1, -1, 0.5, 1e300, BIG - 1, 1 - BIG, BIG, BIG + 1, -(1 << 62), (1 << 63) - 1, "", "a", "1"]
COLUMNS = st.lists(st.sampled_from(VALUES), max_size=6)
TIMES = st.integers(-6, 6) | st.sampled_from([-FAR, -FAR + 1, FAR, FAR - 1, 1 << 33])
RANGES = st.lists(st.tuples(st.integers(0, 3), TIMES, st.integers(0, 4), st.sampled_from("....<>")), max_size=8)


@given(COLUMNS)
def test_a_column_gives_its_values_back(values: list[Value]) -> None:
    """The same ones, printed alike: 1 does not become 1.0, nor a large integer a float."""
    pool = Pool()
    assert list(map(repr, pool.listed(pool.column(values)))) == list(map(repr, values))
    assert list(map(repr, pool.listed(pool.coded(pool.column(values))))) == list(map(repr, values))


def test_numbers_have_no_codes_while_floats_are_exact() -> None:
    """Below 2⁵³ they do without; one integer beyond makes all of its column codes."""
    pool = Pool()
    assert is_number(pool.column([1, 0.5, BIG - 1]))
    assert not is_number(pool.column([1, BIG]))
    assert not is_number(pool.column([1, "a"]))
    assert not is_number(pool.constant(BIG, 2))
    assert is_number(pool.constant(BIG - 1, 2))
    assert pool.listed(pool.column([-0.0])) == [0]
    assert not np.signbit(pool.column([-0.0]))[0]


@given(COLUMNS, COLUMNS)
def test_columns_made_alike_compare_as_their_values(one: list[Value], other: list[Value]) -> None:
    """Whether one of them holds numbers and the other codes, or one is empty."""
    pool = Pool()
    columns = pool.alike([pool.column(one), pool.column(other)])
    assert len({column.dtype for column in columns}) == 1
    for place, value in enumerate(one):
        assert [code == columns[0][place] for code in columns[1].tolist()] == [value == each for each in other]


@given(
    st.lists(st.tuples(*[st.sampled_from(VALUES)] * 3), max_size=6),
    st.lists(st.tuples(*[st.sampled_from(VALUES)] * 3), max_size=6),
)
def test_rows_have_the_same_key_where_they_are_the_same(
    one: list[tuple[Value, ...]], other: list[tuple[Value, ...]]
) -> None:
    """In both of two tables."""
    pool = Pool()
    tables = [[pool.column([row[place] for row in rows]) for place in range(3)] for rows in (one, other)]
    keys, size = keys_of(tables, [len(one), len(other)], pool)
    found = np.concatenate(keys).tolist()
    assert all(0 <= key < size for key in found)
    rows = [*one, *other]
    assert [[key == each for each in found] for key in found] == [[row == each for each in rows] for row in rows]


def test_keys_of_many_columns_do_not_overflow() -> None:
    """Six columns of very many different values each."""
    pool = Pool()
    column = np.arange(100_000.0)
    (keys,), size = keys_of([[column] * 6], [len(column)], pool)
    assert len(set(keys.tolist())) == len(column)
    assert 0 <= int(keys.min()) <= int(keys.max()) < size


def test_rows_without_columns_are_one_key() -> None:
    """In each table."""
    keys, size = keys_of([[], []], [2, 1], Pool())
    assert [each.tolist() for each in keys] == [[0, 0], [0]]
    assert size == 1


def as_arrays(ranges: list[tuple[int, int, int, str]]) -> tuple[Array, Array, Array]:
    """Keys, begins and ends, of which some are endless."""
    keys = np.array([key for key, _, _, _ in ranges], np.int64)
    lo = np.array([NEG if kind == "<" else lo for _, lo, _, kind in ranges], np.int64)
    return keys, lo, np.array([POS if kind == ">" else lo + length for _, lo, length, kind in ranges], np.int64)


@given(RANGES)
def test_an_axis_gives_times_back(ranges: list[tuple[int, int, int, str]]) -> None:
    """Also where the times of all keys do not fit behind each other; and what is endless, endless."""
    keys, lo, hi = as_arrays(ranges)
    axis = Axis(4, (lo,), (hi,))
    begins, ends = axis.begins(keys, lo), axis.ends(keys, hi)
    assert axis.keys(begins).tolist() == keys.tolist()
    found = axis.times(keys, begins, ends)
    assert [each.tolist() for each in found] == [lo.tolist(), hi.tolist()]


@given(
    st.lists(st.tuples(st.integers(0, 70_000), st.integers(-5, 5) | st.sampled_from([1 << 20, 1 << 31, FAR])), max_size=12)
)
def test_an_order_is_by_keys_and_by_times(pairs: list[tuple[int, int]]) -> None:
    """Whatever way it is found; what is the same stays as it was."""
    keys, lo = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    order = in_order(keys, Axis(70_001, (lo,), ()).begins(keys, lo), lo)
    found = range(len(pairs)) if order is None else order.tolist()
    assert list(found) == sorted(range(len(pairs)), key=lambda place: pairs[place])


@given(RANGES)
def test_runs_are_maximal(ranges: list[tuple[int, int, int, str]]) -> None:
    """For each key those that unite what touches."""
    keys, lo, hi = as_arrays(ranges)
    axis = Axis(4, (lo,), (hi,))
    runs = axis.runs(keys, lo, hi)
    of = axis.keys(runs.begins)
    assert (keys[runs.places] == of).all()
    found = list(zip(of.tolist(), *[each.tolist() for each in axis.times(of, runs.begins, runs.ends)], strict=True))
    triples = list(zip(keys.tolist(), lo.tolist(), hi.tolist(), strict=True))
    assert found == [
        (key, *spell) for key in range(4) for spell in maximal([(a, b) for each, a, b in triples if each == key])
    ]


@given(RANGES.filter(bool), st.lists(TIMES, min_size=1, max_size=4))
def test_all_that_has_begun_lies_before_a_place(ranges: list[tuple[int, int, int, str]], times: list[int]) -> None:
    """Whether something begins at that very time or not, within the times of which an axis knows."""
    keys, lo, hi = as_arrays(ranges)
    axis = Axis(4, (lo, np.array(times, np.int64)), (hi,))
    for time in [*times, NEG, NEG - 3]:
        places = axis.behind(keys, np.full(len(keys), time))
        for key, place in zip(keys.tolist(), places.tolist(), strict=True):
            begun = (axis.begins(keys, lo) < place)[keys == key]
            assert begun.tolist() == (lo <= max(time, NEG))[keys == key].tolist()


def test_batches_of_numbers_and_of_codes_are_joined() -> None:
    """The column of both holds codes then."""
    pool = Pool()
    batches = [batch_of([((1,), 0, 0)], 1, pool), batch_of([(("a",), 1, 1)], 1, pool), batch_of([((BIG,), 2, 2)], 1, pool)]
    assert joined(batches, 1, pool).facts(pool) == [((1,), 0, 0), (("a",), 1, 1), ((BIG,), 2, 2)]


def test_a_batch_is_clipped_and_tidied() -> None:
    """What touches becomes one, and endless ranges stay so where nothing cuts them."""
    pool = Pool()
    batch = batch_of([(("a",), 3, POS), (("a",), NEG, 2), (("b",), 0, 4), (("b",), 2, 7)], 1, pool)
    assert batch.tidied(pool).facts(pool) == [(("a",), NEG, POS), (("b",), 0, 7)]
    assert batch.clipped(NEG, 2).facts(pool) == [(("a",), NEG, 2), (("b",), 0, 2), (("b",), 2, 2)]
    assert batch.clipped(8, POS).facts(pool) == [(("a",), 8, POS)]
