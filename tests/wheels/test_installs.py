"""From a wheel to what a guide shows, where nothing was installed: by `pip`, `uv tool` and `pipx`, with each extra."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest
from examples.documents import ROOT

from tidelog.version import VERSION
from wheels.installations import Line, Place, build_wheel, lines_of, lines_of_all

pytestmark = [pytest.mark.slow, pytest.mark.long]

LINES = lines_of_all()
OF_DEVELOPERS = {"test", "coverage", "bench", "docs", "lint", "package"}
EXTRAS = sorted(
    tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"].keys() - OF_DEVELOPERS
)
RULES = "timeline integer, unit 1 s.\ninput level(n: integer).\nhigh(N) :- level(N), N > 5.\noutput high.\n"
CALENDAR = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:1
DTSTAMP:20260101T000000Z
DTSTART;VALUE=DATE:20260501
SUMMARY:May Day
END:VEVENT
END:VCALENDAR
"""
GATEWAY = """program = "high.tide"
[[source]]
name = "plant"
{source}[[source.map]]
topic = "{{_}}"
predicate = "level"
[[sink]]
name = "out"
type = "spec"
spec = "-"
"""
FILES = {
    "high.tide": RULES,
    "levels.txt": "level(1)@1\nlevel(9)@2\n",
    "holidays.ics": CALENDAR.replace("\n", "\r\n"),
    "holidays.tide": "timeline integer, unit 1 s.\ninput a.\n"
    'calendar holiday(What) from "holidays.ics", zone "Europe/Berlin".\nb :- a, not holiday(_).\noutput b.\n',
    "mqtt.toml": GATEWAY.format(source='type = "mqtt"\nurl = "mqtt://localhost:1883"\ntopics = ["a/+"]\n'),
    "modbus.toml": GATEWAY.format(
        source='type = "modbus"\nhost = "10.0.0.5"\nregister = [{ name = "a", address = 1, type = "int16" }]\n'
    ),
    "opcua.toml": GATEWAY.format(
        source='type = "opcua"\nurl = "opc.tcp://10.0.0.5:4840"\nnode = [{ name = "a", id = "ns=2;s=A" }]\n'
    ),
    "kafka.toml": GATEWAY.format(source='type = "kafka"\nbrokers = "10.0.0.5:9092"\ntopics = ["a"]\n'),
    "nats.toml": GATEWAY.format(source='type = "nats"\nurl = "nats://10.0.0.5:4222"\nsubject = "a.>"\n'),
    "otel.toml": GATEWAY.format(source='type = "mqtt"\nurl = "mqtt://localhost:1883"\ntopics = ["a/+"]\n')
    + '[telemetry]\nendpoint = "http://10.0.0.5:4318"\n',
    "sparkplug.toml": GATEWAY.format(source='type = "sparkplug"\nurl = "mqtt://localhost:1883"\n'),
    "sql.toml": GATEWAY.format(source='type = "mqtt"\nurl = "mqtt://localhost:1883"\ntopics = ["a/+"]\n').replace(
        'type = "spec"\nspec = "-"', 'type = "sql"\nurl = "postgresql://u@10.0.0.5:5432/d"'
    ),
    "tide.py": "from pygments.lexers import get_lexer_by_name\nprint(get_lexer_by_name('tide').name)\n",
    "cluster.py": "from tidelog.connectors.spark.cluster import requirements\nrequirements.check_requirements()\n",
}
SERVING = """\
tidelog run high.tide --in levels.txt --http 127.0.0.1:0 > said 2>&1 & served=$!
until grep -q http:// said || ! kill -0 $served 2> /dev/null; do sleep 0.1; done
kill -TERM $served; wait $served; cat said; grep http:// said
"""
OUTBOX = "test -e {0} || tidelog run high.tide --in levels.txt --out spark+outbox:{0}"
NEEDING = {
    "calendar": ("tidelog check holidays.tide", "tidelog[calendar]"),
    "completion": ("tidelog completion bash", "tidelog[completion]"),
    "delta": (f"{OUTBOX.format('box')} && tidelog ingest --from box --to tables --once && ls tables", "tidelog[delta]"),
    "demo": ("$PYTHON tide.py", "pygments"),
    "iceberg": (
        f"{OUTBOX.format('ice')} && mkdir -p lake && export PYICEBERG_CATALOG__LAKE__URI=sqlite:///lake/c.db "
        "PYICEBERG_CATALOG__LAKE__WAREHOUSE=lake && tidelog ingest --from ice --to iceberg:lake.p --once && ls lake/p",
        "tidelog[iceberg]",
    ),
    "frames": ("tidelog run high.tide --in levels.txt --out parquet:out && ls out", "tidelog[frames]"),
    "gateway": ("tidelog gateway mqtt.toml --check", "tidelog[gateway]"),
    "http": (SERVING, "tidelog[http]"),
    "kafka": ("tidelog gateway kafka.toml --check", "tidelog[gateway]"),
    "lsp": ("tidelog lsp", "tidelog[lsp]"),
    "modbus": ("tidelog gateway modbus.toml --check", "tidelog[gateway]"),
    "nats": ("tidelog gateway nats.toml --check", "tidelog[gateway]"),
    "opcua": ("tidelog gateway opcua.toml --check", "tidelog[gateway]"),
    "otel": ("tidelog gateway otel.toml --check", "tidelog[gateway]"),
    "sparkplug": ("tidelog gateway sparkplug.toml --check", "tidelog[gateway]"),
    "sql": ("tidelog gateway sql.toml --check", "tidelog[gateway]"),
    "pygments": ("$PYTHON tide.py", "pygments"),
    "spark": ("$PYTHON cluster.py", "tidelog[spark]"),
}
"""For each extra a command that needs it, and what it says that is missing where tidelog is installed alone."""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def place(tmp_path: Path, built: tuple[Path, Path]) -> Place:
    clone, wheels = built
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8", newline="")
    return Place(tmp_path, wheels, clone)


def check(place: Place, extras: set[str]) -> None:
    """What all people do first; and the gateway, where it was installed."""
    assert place.does("tidelog --version") == f"tidelog {VERSION}\n"
    assert place.does("tidelog run high.tide --in levels.txt --out facts+-") == "high(9)@2\n"
    spells = place.does(
        "tidelog run examples/weather/weather.tide --in 'examples/weather/sf.csv?predicate=temp' "
        "--in 'examples/weather/sea.csv?predicate=temp' --emit final --iso --out facts+-",
        place.clone,
    )
    assert spells.count("\n") > 10
    assert "wrote plant.tide" in place.does("tidelog init plant")
    assert place.does("tidelog test plant") == "2 tests passed\n"
    if extras & {"gateway", "modbus", "opcua"}:
        place.does("tidelog gateway plant/plant.toml --check")


def needed(place: Place, extra: str) -> str:
    return NEEDING[extra][0].replace("$PYTHON", shlex.quote(str(place.python)))


def extras_of(target: str) -> set[str]:
    return set(target.partition("[")[2].removesuffix("]").split(",")) - {""}


def test_every_extra_for_users_is_tried() -> None:
    assert sorted(NEEDING) == EXTRAS


def test_lines_are_found() -> None:
    """A command in a block or in a sentence, with other things; none for another folder, or of other projects."""
    text = """Install it (`pip install 'tidelog[http]'`):
    pip install .     # in a clone
    python3 -m venv env && env/bin/pip install 'tidelog[lsp]'
    pip install 'tidelog[spark]' venv-pack && venv-pack
    TIDELOG_COMPILE=1 pip install .
    .venv/bin/pip install pre-commit
    uv tool install 'tidelog[gateway]'
    uvx --from tidelog tidelog
    """
    assert lines_of(text) == [
        Line("pip install", "tidelog[http]"),
        Line("pip install", "."),
        Line("pip install", "tidelog[spark]", ("venv-pack",)),
        Line("uv tool install", "tidelog[gateway]"),
        Line("uvx", "tidelog"),
    ]


@pytest.mark.parametrize(
    ("line", "documents"), LINES.items(), ids=lambda value: f"{value.tool} {value.target}" if isinstance(value, Line) else ""
)
def test_what_documents_say_to_install_is_enough_for_them(line: Line, documents: list[str], place: Place) -> None:
    """A command that a document has is run where nothing is installed; then all that the document shows is as it says."""
    if line.tool == "uvx":
        told = place.does(f"uvx --from {shlex.quote(line.target)} tidelog --version")
        assert told.endswith(f"tidelog {VERSION}\n"), told  # behind what uvx says of packages that it had to fetch
        return
    place.install(line)
    extras = extras_of(line.target)
    check(place, extras)
    for extra in extras:
        place.does(needed(place, extra))
    for number, document in enumerate(documents):
        if not document.startswith(("README.md", "docs/howto/", "docs/tutorial/", "docs/reference/installing.md")):
            continue
        folder = place.folder / f"document{number}"
        folder.mkdir()
        script = ROOT / "tests" / "wheels" / "run_document.py"
        place.does(f"{place.python} {script} {ROOT} {document}", folder)


@pytest.mark.parametrize("extra", ["", *sorted(NEEDING.keys() - {"spark"})])
def test_uv_installs_it_as_a_tool(extra: str, place: Place) -> None:
    """With each extra, but for that of Spark, whose download `pip` has shared with the other tests.

    What all people do first needs no extra, so that it is tried without one, and with what documents say.
    """
    place.install(Line("uv tool install", f"tidelog[{extra}]" if extra else "tidelog"))
    if extra:
        place.does(needed(place, extra))
    else:
        check(place, set())


@pytest.mark.parametrize("extra", ["", "gateway"])
def test_pipx_installs_it(extra: str, place: Place) -> None:
    place.install(Line("pipx install", f"tidelog[{extra}]" if extra else "tidelog"))
    check(place, {extra})


def test_what_is_missing_is_named(place: Place) -> None:
    """Where tidelog is installed alone, what needs an extra fails, and says which one."""
    place.install(Line("uv tool install", "tidelog"))
    said = {extra: place.run(needed(place, extra)) for extra in NEEDING}
    assert [extra for extra, done in said.items() if done.returncode == 0] == []
    assert [(extra, done.stdout) for extra, done in said.items() if NEEDING[extra][1] not in done.stdout] == []
