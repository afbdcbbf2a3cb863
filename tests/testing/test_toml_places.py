"""Places in TOML: each value of a file is found where it stands."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from tidelog.testing.toml_places import find_entries

STRINGS = st.sampled_from(
    ['"a"', "'a # b'", '"\\" ] \\\\"', '"""a\n"b" # ]\n"""', "'''\n[[test]]\nx = 'y'\n'''", '""', '"""a""\\""""', "''''a'''"]
)
SCALARS = STRINGS | st.sampled_from(["1", "-2.5", "true", "2026-11-02T03:12:00Z", "2026-11-02 03:12:00", "1e5", "inf"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[\n" + "".join(f"  {item},  # ]\n" for item in items) + "]")
        | st.lists(SCALARS.filter(lambda text: "\n" not in text), max_size=2).map(
            lambda items: "{" + ", ".join(f"k{at} = {item}" for at, item in enumerate(items)) + "}"
        )
    ),
    max_leaves=4,
)
HEADERS = st.sampled_from(["[[test]]", "[[ test ]] # [x]", "[test.at]", '[other."a.b"]', "[[test.sub]]"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A file with tables, arrays of tables, dotted keys, and comments."""
    lines = ["# begin"]
    for section in range(draw(st.integers(1, 4))):
        if section:
            lines.append(draw(HEADERS))
        for number in range(draw(st.integers(0, 3))):
            key = draw(st.sampled_from([f"k{number}", f'"q {number}"', f"d{number} . 'e.f'"]))
            lines.append(f"{key} = {draw(VALUES)}{draw(st.sampled_from(['', '  # = x']))}")
            lines.append(draw(st.sampled_from(["", "# k = 1"])))
    return "\n".join(lines)


def find(data: Any, path: tuple[str | int, ...]) -> Any:
    """What stands at a path."""
    for part in path:
        data = data[part]
    return data


@drawn(100)
@given(documents())
def test_each_value_is_found(text: str) -> None:
    """Read alone, the text at each place gives the value that the whole file has there."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # the same table twice
        return
    for entry in find_entries(text):
        alone = tomllib.loads(f"value = {text[entry.value.start : entry.value.end]}")["value"]
        assert alone == find(data, entry.path)


def test_all_entries_are_found() -> None:
    """In order, each with the place of its key."""
    text = 'a = 1\n[[test]]\nx = "#"\nat."5" = """\n[[test]]\n"""\n[test.at]\ny = [1, "]"]\n[[test]]\nx = 2 # c'
    entries = find_entries(text)
    assert [entry.path for entry in entries] == [
        ("a",),
        ("test", 0, "x"),
        ("test", 0, "at", "5"),
        ("test", 0, "at", "y"),
        ("test", 1, "x"),
    ]
    assert [text[entry.key.start : entry.key.end] for entry in entries] == ["a", "x", 'at."5"', "y", "x"]


@pytest.mark.parametrize("text", ["", "# only", "\n\n"])
def test_an_empty_file_has_none(text: str) -> None:
    """Nothing is found where nothing is."""
    assert find_entries(text) == []
