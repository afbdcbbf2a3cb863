"""Lines by the grammar: what a slow reader, character by character, says of them, and what InfluxDB itself does."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from influxdb import InfluxDb, influxdb
from tidelog.connectors.databases.influx.encoder import PointEncoder, PointTexts
from tidelog.connectors.databases.influx.grammar import FieldValue, Point, PointReader, is_point
from tidelog.plans.diagnostics.errors import DataError

# --- the definition, as slow code -----------------------------------------------------------------------------------------


class Wrong(Exception):
    """This is no line."""


class Slow:
    """Reads a line from left to right."""

    def __init__(self, text: str) -> None:
        self.rest = list(text.lstrip(" \t"))

    def sees(self, expected: str) -> bool:
        return self.rest[:1] == [expected]

    def take(self, expected: str) -> None:
        if not self.rest or self.rest.pop(0) != expected:
            raise Wrong(expected)

    def until(self, ends: str, escapes: str) -> str:
        found = ""
        while self.rest and self.rest[0] not in ends:
            if self.sees("\\") and len(self.rest) > 1 and self.rest[1] in escapes:
                self.rest.pop(0)
            found += self.rest.pop(0)
        return found

    def word(self, ends: str) -> str:
        if not (found := self.until(ends, ends)):
            raise Wrong("nothing")
        return found

    def value(self) -> FieldValue:
        if not self.sees('"'):
            return scalar(self.until(", =", ""))
        self.take('"')
        held = self.until('"', '"\\')
        self.take('"')
        return held

    def pairs(self, value: Callable[[], FieldValue], taken: Collection[str]) -> dict[str, FieldValue]:
        found: dict[str, FieldValue] = {}
        while True:
            name = self.word(",= ")
            self.take("=")
            if name in found or name in taken or name == "time":
                raise Wrong("name")
            found[name] = value()
            if not self.sees(","):
                return found
            self.take(",")


def slowly(text: str) -> Point:
    """The point of a line."""
    slow = Slow(text)
    measurement, tags = slow.word(", "), dict[str, str]()
    if slow.sees(","):
        slow.take(",")
        tags = {name: str(held) for name, held in slow.pairs(lambda: slow.word(",= "), ()).items()}
    slow.take(" ")
    while slow.sees(" "):
        slow.take(" ")
    fields = slow.pairs(slow.value, tags)
    tail = "".join(slow.rest)
    if tail[:1] not in ("", " "):
        raise Wrong("time")
    time = tail.strip(" ")
    if time and not (time.removeprefix("-").isdigit() and time.isascii() and -(2**63) <= int(time) < 2**63):
        raise Wrong("time")
    return Point(measurement, tags, fields, int(time) if time else None)


def scalar(plain: str) -> FieldValue:
    """A value without quotes."""
    if plain in ("t", "T", "true", "True", "TRUE"):
        return True
    if plain in ("f", "F", "false", "False", "FALSE"):
        return False
    if plain[-1:] in ("i", "u") and plain[:-1].removeprefix("-").isdigit() and plain.isascii():
        least, most = (-(2**63), 2**63) if plain[-1] == "i" else (0, 2**64)
        if (plain[-1] == "u" and plain[0] == "-") or not least <= int(plain[:-1]) < most:
            raise Wrong("range")
        return int(plain[:-1])
    if not plain or set(plain) - set("0123456789.eE+-") or plain[0] in "+eE":
        raise Wrong("number")
    try:
        number = float(plain)
    except ValueError:
        raise Wrong("number") from None
    if math.isinf(number):
        raise Wrong("range")
    return number


PIECES = [
    *',= \\"\\',
    "time",
    "t",
    "1",
    "-2i",
    "3u",
    "-1u",
    "1.5",
    "2e400",
    "nan",
    "a",
    "ä",
    "m,k=v f=1",
    ' f="x" 12',
    "99999999999999999999",
]


def as_text(point: Point) -> str:
    """Equal texts are equal points, with the types of their values."""
    return repr(point)


@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
    | st.tuples(
        st.sampled_from(["m,k=v f=1 5", r'm\,\ x,a\=b=c\\ f="\"\\",g=T']), st.integers(0, 20), st.sampled_from(PIECES)
    ).map(lambda it: it[0][: it[1]] + it[2] + it[0][it[1] :])
)
def test_a_line_is_what_the_definition_says(text: str) -> None:
    """Read as the slow reader does, or refused as it does, with a reason."""
    if not is_point(text.encode()):
        return
    try:
        expected = as_text(slowly(text))
    except Wrong:
        with pytest.raises(DataError) as caught:
            PointReader().read(text.encode())
        assert caught.value.reason
    else:
        assert as_text(PointReader().read(text.encode())) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"cpu", "missing fields"),
        (b"cpu ", "missing fields"),
        (b",a=b v=1", "missing measurement"),
        (b"cpu,a= v=1", "bad tag: expected `,name=value`, with a backslash before `,`, `=` and a space that belong to one"),
        (b"cpu,a=b=c v=1", "bad tag: expected a space, or `,name=value`"),
        (b"cpu,a=b,a=c v=1", "duplicate tag `a`"),
        (b"cpu,a=b a=1", "`a` is a tag and a field: name one of them otherwise"),
        (b"cpu,time=b a=1", "a tag is called `time`, which is the name of a point's time"),
        (b"cpu time=1", "a field is called `time`, which is the name of a point's time"),
        (b"cpu v", "bad field: expected `name=value`, got `v`"),
        (b"cpu v=", "field `v`: missing value"),
        (b"cpu v=1,v=2", "duplicate field `v`"),
        (b'cpu v="abc', "field `v`: unbalanced quotes"),
        (b'cpu v="a"b', "bad field: expected a comma or a space before `b`"),
        (b"cpu v=abc", "field `v`: abc is no number, no truth value, and no text in quotes"),
        (b"cpu v=9223372036854775808i", "field `v`: 9223372036854775808i is beyond 64 bits"),
        (b"cpu v=-1u", "field `v`: -1u is beyond 64 bits"),
        (b"cpu v=1e400", "field `v`: 1e400 is beyond 64 bits"),
        (b"cpu v=1 noon", "bad timestamp: noon"),
        (b"cpu v=1 9223372036854775808", "bad timestamp: 9223372036854775808 is beyond what 64 bits of nanoseconds hold"),
        (b"cpu v=\xff", "the line is not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_line_is_told(line: bytes, reason: str) -> None:
    """The first thing that is wrong."""
    with pytest.raises(DataError) as caught:
        PointReader().read(line)
    assert caught.value.reason == reason


def test_times_count_in_what_is_told() -> None:
    """From nanoseconds to hours."""
    assert [PointReader(one).read(b"m f=1 2").time for one in ("ns", "us", "ms", "s", "m", "h")] == [
        2,
        2_000,
        2_000_000,
        2_000_000_000,
        120_000_000_000,
        7_200_000_000_000,
    ]


# --- beside InfluxDB ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InfluxDb]:
    with influxdb(tmp_path_factory.mktemp("influxdb")) as running:
        yield running


BOTH = [
    r"escapes,a\,b=c\ d,e\=f=g\=h v=1 1",
    r'texts t="a \"quoted\" back\\slash, and = more" 1',
    r"slashes,a=b\c v=1 1",
    "numbers f=1,g=-2.5,h=1e3,i=-4i 1",
    "truths a=t,b=T,c=true,d=True,e=TRUE,f=f,g=F,h=false,i=False,j=FALSE 1",
    r"a\ room\,b v=1 1",
    "m=n v=1 1",
    "ä,ö=ü v=1 -1",
]
"""Lines that both read."""
NEITHER = [
    "cpu",
    "cpu,a= v=1",
    "cpu v=",
    "cpu v=abc",
    'cpu v="abc',
    "cpu v=1 noon",
    "cpu v=1e400",
    "cpu,a=1,a=2 v=1",
    "cpu v=9223372036854775808i",
]
"""Lines that neither reads."""


@pytest.mark.parametrize("line", BOTH)
def test_influxdb_reads_the_same(server: InfluxDb, line: str) -> None:
    """Its own answer has the same tags and fields."""
    assert server.write(line) == (204, {})
    point = PointReader().read(line.encode())
    quoted = point.measurement.replace("\\", "\\\\").replace('"', '\\"')
    told = server.query(f'SELECT * FROM "{quoted}"')[0]  # noqa: S608 - the database is the test's own
    values = [point.time, *point.tags.values(), *point.fields.values()]
    assert sorted(map(plainly, told)) == sorted(map(plainly, values))


def plainly(value: FieldValue | None) -> str:
    """A value as JSON has it, which does not tell 1.0 from 1."""
    return repr(int(value) if isinstance(value, float) and value.is_integer() else value)


@pytest.mark.parametrize("line", NEITHER)
def test_influxdb_refuses_the_same(server: InfluxDb, line: str) -> None:
    """With 400, and its own reason."""
    status, told = server.write(line)
    assert status == 400 and told["error"]
    with pytest.raises(DataError):
        PointReader().read(line.encode())


PLAN = tidelog.compile(
    "timeline integer, unit 1 s. input r(room: text, c: number, n: integer, note: text). output hot(room, c, n, note). "
    "hot(R, C, N, T) :- r(R, C, N, T)."
)
NAMES = st.text(st.sampled_from('ab ,=\\"#ä\n'), max_size=5)


@given(
    room=NAMES,
    note=NAMES,
    value=st.floats() | st.integers(-(2**70), 2**70),
    n=st.integers(-(2**64), 2**64),
    time=st.integers(-9, 9),
)
def test_what_is_written_is_read_back(room: str, note: str, value: float, n: int, time: int) -> None:
    """Each answer is the point that it says, or refused: with a line end, a backslash at a tag's end, or beyond 64 bits."""
    encoder = PointEncoder(
        PLAN.schema,
        outputs=["hot"],
        texts=PointTexts(tags={"room": "{room}"}, fields={"c": "{c}", "n": "{n}", "t": "{note}"}),
    )
    fits = "\n" not in room + note and not room.endswith("\\") and -(2**63) <= n < 2**63 and math.isfinite(value)
    try:
        lines = encoder.lines(("hot", (room, value, n, note), time, time))
    except ValueError:
        assert not fits
        return
    assert fits
    fields: dict[str, FieldValue] = {"c": float(value), "n": n, "t": note}
    assert [as_text(PointReader().read(line)) for line in lines] == [
        as_text(Point("hot", {"room": room} if room else {}, fields, time * 10**9))
    ]
