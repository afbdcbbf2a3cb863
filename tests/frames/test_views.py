"""Texts as Polars has them: views, which pyarrow cannot put in order, also as the words of categories."""

from __future__ import annotations

import pyarrow as pa
import pytest

import tidelog

PROGRAM = "timeline integer.\ninput t(a: text).\np(A) :- t(A).\noutput p."


@pytest.mark.parametrize("size", [4, 6_000])
@pytest.mark.parametrize("kind", ["view", "category", "text"])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_texts_may_be_views(size: int, kind: str, is_sorted: bool) -> None:
    """In any order, row by row and in columns."""
    words = pa.array(["x", "y"] * (size // 2))
    column = {"view": words.cast(pa.string_view()), "category": _category(words), "text": words}[kind]
    times = list(range(size)) if is_sorted else list(range(size, 0, -1))
    session = tidelog.Session(tidelog.compile(PROGRAM), emit="final")
    session.push_frame("t", pa.table({"time": times, "a": column}))
    session.finish()
    told = [(row, lo) for _, row, lo, _ in session.pull_records()]
    assert sorted(told) == sorted(((word,), time) for word, time in zip(words.to_pylist(), times, strict=True))


def _category(words: pa.Array) -> pa.Array:
    encoded = words.dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(pa.string_view()))
