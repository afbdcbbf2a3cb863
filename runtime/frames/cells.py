"""The cells of many rows of CSV at once, as columns of texts; and the numbers and words that they are.

Each function gives None where something is not certain to mean here what it means to who reads row by row.
"""

from __future__ import annotations

from typing import Any

from tidelog.operators.columns.arrays import Array, np
from tidelog.plans.tree.numerals import MAX_DIGITS
from tidelog.runtime.frames.arrow import pa, pc, pcsv
from tidelog.runtime.frames.value_columns import are_exact

SPACES = " \t"
"""What does not count around a cell."""
_BYTES = {name: ord(name) for name in '".:-+0Z\n \t'}
_NINE = 9
_MARK = b"\xef\xbb\xbf"
_MOST_DIGITS = 18
"""So many digits are a number of 64 bits, whichever they are."""
_EXACT_DIGITS = 15
_DATE, _HOUR, _MINUTE = len("2010-07-01"), len("2010-07-01T00"), len("2010-07-01T00:00")
_LONG = 1 << 17
"""Lines with quotes are shorter: the standard library's reader refuses fields beyond that."""


def plain_lines(text: bytes, max_line: int, separator: str = ",") -> bytes | None:
    """Whole lines whose cells stand between separators and nothing else, each with its newline: the same without quotes.

    Quotes are left away where they are not needed. No line is longer than `max_line`.
    """
    if not _are_short(text, min(max_line, _LONG) if b'"' in text else max_line) or text.startswith(_MARK):
        return None
    if b"\r" in text:
        if text.count(b"\r") != text.count(b"\r\n"):
            return None
        text = text.replace(b"\r\n", b"\n")
    return _unquoted(text, separator) if b'"' in text else text


def _are_short(text: bytes, most: int) -> bool:
    """Whether no line is longer."""
    begin = 0
    while begin < len(text):
        newline = text.rfind(b"\n", begin, begin + most + 1)
        if newline < 0:
            return False
        begin = newline + 1
    return True


def _unquoted(text: bytes, separator: str) -> bytes | None:
    """Lines without their quotes; None where one of these does not enclose a cell, or what it encloses would change."""
    signs = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(signs == _BYTES['"'])
    begins, ends = quotes[::2], quotes[1::2]
    if len(begins) != len(ends) or b"\0" in text or (ends - begins < 2).any():
        return None
    is_border = (signs == ord(separator)) | (signs == _BYTES["\n"])
    is_space = (signs == _BYTES[" "]) | (signs == _BYTES["\t"])
    before = is_border[begins - 1] | (begins == 0)
    if not before.all() or not is_border[ends + 1].all() or is_space[begins + 1].any() or is_space[ends - 1].any():
        return None
    borders = np.flatnonzero(is_border)
    if (np.searchsorted(borders, begins) != np.searchsorted(borders, ends)).any():
        return None
    return text.replace(b'"', b"")


def cells_of(text: bytes, count: int, separator: str = ",") -> list[Any] | None:
    """The columns of plain lines with so many cells each, two at least, in UTF-8, without spaces around."""
    parsing = pcsv.ParseOptions(
        delimiter=separator, quote_char=False, double_quote=False, escape_char=False, ignore_empty_lines=False
    )
    names = [str(place) for place in range(count)]
    reading = pcsv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names)
    types = pcsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    try:
        table = pcsv.read_csv(pa.BufferReader(text), reading, parsing, types)
    except pa.ArrowInvalid:
        return None
    if table.num_rows != text.count(b"\n"):
        return None
    columns = [column.combine_chunks() for column in table.columns]
    is_spaced = b" " in text or b"\t" in text
    return [pc.utf8_trim(column, SPACES) for column in columns] if is_spaced else columns


def with_points(cells: Any) -> Any | None:
    """Cells with points in place of commas before decimals; None where one has a point already."""
    if pc.any(pc.match_substring(cells, ".")).as_py():
        return None
    return pc.replace_substring(cells, ",", ".")


def words_of(cells: Any) -> tuple[list[str], Array]:
    """The different texts of a column, and which of them each cell is."""
    encoded = cells.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)


def whole_of(cells: Any) -> Array | None:
    """The whole numbers (int64) that cells are, with at most a minus before their digits."""
    signs, begins, ends = _signs_of(cells)
    if (ends - begins).max() > _MOST_DIGITS or not (_is_digit(signs) | (signs == _BYTES["-"])).all():
        return None
    return _cast(cells, pa.int64())


def microseconds_of(cells: Any) -> Array | None:
    """The microseconds since 1970 (int64) of dates, or of times such as `2010-07-01T00:00:00.250Z`; none is before 1970."""
    signs, begins, ends = _signs_of(cells)
    lengths = ends - begins
    if lengths.min() < _DATE or (signs == _BYTES["+"]).any() or np.count_nonzero(signs == _BYTES["-"]) != 2 * len(cells):
        return None  # an offset from UTC, or no date
    if lengths.max() > _DATE and (lengths.min() < _MINUTE or (signs[begins + _HOUR] != _BYTES[":"]).any()):
        return None
    is_zoned = signs[-1] == _BYTES["Z"]
    found = _cast(cells, pa.timestamp("us", "UTC" if is_zoned else None), pa.int64())
    return found if found is not None and found.min() >= 0 else None


def decimals_of(cells: Any) -> Array | None:
    """The numbers that cells are, so short that each float's shortest decimal is what is written."""
    _, begins, ends = _signs_of(cells)
    return None if (ends - begins).max() > _EXACT_DIGITS else floats_of(cells)


def floats_of(cells: Any) -> Array | None:
    """The numbers that cells are, all of them exact as floats: digits, with a fraction and an exponent or without."""
    signs, begins, ends = _signs_of(cells)
    lengths = ends - begins
    if lengths.min() < 1 or lengths.max() > MAX_DIGITS:
        return None
    digits = _is_digit(signs)
    first = signs[begins]
    if not digits[ends - 1].all() or not (digits[begins] | (first == _BYTES["-"]) | (first == _BYTES["+"])).all():
        return None
    points = np.flatnonzero(signs == _BYTES["."])
    if not (digits[points - 1] & digits[points + 1]).all():
        return None
    numbers = _cast(cells, pa.float64())
    return numbers + 0.0 if numbers is not None and are_exact(numbers) else None


def _signs_of(cells: Any) -> tuple[Array, Array, Array]:
    """The bytes of all cells, and where each cell begins and ends in them."""
    _, offsets, signs = cells.buffers()
    places = np.frombuffer(offsets, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    found = np.frombuffer(signs or b"", np.uint8)[places[0] : places[-1]]
    places = places - places[0]
    return found, places[:-1], places[1:]


def _is_digit(signs: Array) -> Array:
    found: Array = (signs - np.uint8(_BYTES["0"])) <= _NINE
    return found


def _cast(cells: Any, *kinds: Any) -> Array | None:
    try:
        for kind in kinds:
            cells = cells.cast(kind)
    except pa.ArrowInvalid:
        return None
    found: Array = cells.to_numpy(zero_copy_only=False)
    return found
