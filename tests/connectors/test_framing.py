"""Framing: lines are the same however the bytes come in chunks, and no line is kept beyond the bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors.formats.lines import LineFramer
from tidelog.runtime.ports.interfaces import Rejected

PIECES = st.lists(st.sampled_from([b"a", b"bb", b"\n", b"\r\n", b"\r", b"", b"ccccccccc", b"\xef\xbb\xbf"]), max_size=20)


def frame(chunks: list[bytes], max_line: int) -> tuple[dict[int, bytes], list[Rejected]]:
    """The lines that are not empty by their numbers, and what was refused."""
    framer = LineFramer("data", max_line)
    numbered: dict[int, bytes] = {}
    rejected: list[Rejected] = []
    for framed in [*map(framer.push, chunks), framer.finish()]:
        numbered |= {framed.first + i: line for i, line in enumerate(framed.lines) if line}
        rejected += framed.rejected
    return numbered, rejected


@given(PIECES, st.data())
def test_lines_do_not_depend_on_chunks(pieces: list[bytes], data: st.DataObject) -> None:
    """Any cutting of the bytes gives the same lines with the same numbers, and refuses the same ones."""
    whole = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    chunks = [whole[i:j] for i, j in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    numbered, rejected = frame(chunks, 8)
    one_numbered, one_rejected = frame([whole], 8)
    assert numbered == one_numbered
    assert [(item.place, item.reason) for item in rejected] == [(item.place, item.reason) for item in one_rejected]


@given(PIECES)
def test_lines_are_those_between_newlines(pieces: list[bytes]) -> None:
    """Short lines are what stands between newlines, without a carriage return or a byte order mark."""
    whole = b"".join(pieces)
    expected = [line.removesuffix(b"\r") for line in whole.split(b"\n")]
    expected[0] = expected[0].removeprefix(b"\xef\xbb\xbf")
    assert frame([whole], 1000)[0] == {i: line for i, line in enumerate(expected, 1) if line}


def test_overlong_line_is_refused_once_and_not_kept() -> None:
    """A line without an end is refused when it passes the bound; what follows of it takes no memory."""
    framer = LineFramer("data", 100)
    rejected = [item for _ in range(1000) for item in framer.push(b"x" * 64).rejected]
    assert [(item.place, item.reason) for item in rejected] == [("data:1", "line is longer than 100 bytes")]
    assert framer.tail == b""
    framed = framer.push(b"xx\nshort\n")
    assert (framed.lines, framed.first) == ([b"short"], 2)
