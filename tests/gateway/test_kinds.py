"""Kinds of sources and sinks: ours are in one table, and other packages bring more by entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tidelog.cli import main
from tidelog.gateway.kinds.kind import INTERFACE, SinkKind, SourceKind
from tidelog.gateway.kinds.table import ENDS, End, check_settings, names, own_kinds

GOOD = """
from tidelog.gateway.kinds import SinkKind, SinkSettings, SourceKind, SourceSettings
from tidelog.connectors import MemorySink

class Drawer(SinkSettings, frozen=True, kw_only=True, tag="drawer"):
    size: int = 3

def open_drawer(settings, opening):
    return MemorySink(name=f"drawer of {settings.size}")

async def reach(settings, place):
    return f"the drawer of {place.client(settings)} is open"

SINK = SinkKind(interface=1, settings=Drawer, open=open_drawer, reach=reach)
OLD = SinkKind(interface=0, settings=Drawer, open=open_drawer)
NEW = SinkKind(interface=99, settings=Drawer, open=open_drawer)
LOOSE = SinkKind(interface=1, settings=dict, open=open_drawer)
SOURCE = SourceKind(interface=1, settings=Drawer, open=open_drawer)

def open_missing(settings, opening):
    import drawers_of_oak
    return drawers_of_oak

MISSING = SinkKind(interface=1, settings=Drawer, open=open_missing, needs="drawers[oak]")
"""
FILE = """program = "plant.tide"
[[sink]]
name = "desk"
type = "drawer"
size = 5
"""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a package with entry points where Python finds it, as pip would."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))

    def install(name: str, points: str, group: str = "tidelog.sinks", code: str = GOOD) -> None:
        module = name.replace("-", "_")
        (packages / f"{module}.py").write_text(code)
        monkeypatch.delitem(sys.modules, module, raising=False)
        info = packages / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{points}\n")

    return install


def check(tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str = FILE, *options: str) -> tuple[int, str]:
    """What `--check` says of a file: the exit code, and all that it printed."""
    (tmp_path / "plant.tide").write_text("timeline integer, unit 1 s.\ninput a(x: text).\noutput b(x).\nb(X) :- a(X).\n")
    (tmp_path / "plant.toml").write_text(text)
    code = main(["gateway", str(tmp_path / "plant.toml"), "--check", *options])
    said = capfd.readouterr()
    return code, said.out + said.err


def test_another_package_brings_a_kind(tmp_path: Path, install: Install, capfd: pytest.CaptureFixture[str]) -> None:
    """It is checked, opened and reached as our own are."""
    install("drawers", "drawer = drawers:SINK")
    code, said = check(tmp_path, capfd)
    assert code == 0 and "sink desk: drawer of 5" in said
    assert "desk: the drawer of tidelog-desk is open" in check(tmp_path, capfd, FILE, "--connect")[1]
    code, said = check(tmp_path, capfd, FILE.replace("size", "sise"))
    assert code == 1 and "unknown key `sise` of `sink`" in said and "did you mean `size`?" in said
    code, said = check(tmp_path, capfd, FILE.replace("5", '"5"'))
    assert code == 1 and "`size`: expected a number, got text" in said
    code, said = check(tmp_path, capfd, FILE.replace('"drawer"', '"drower"'))
    assert code == 1 and "did you mean `drawer`?" in said
    code, said = check(tmp_path, capfd, FILE.replace('"drawer"', '"x"'))
    assert code == 1 and f"known are {', '.join(names('sink'))}" in said and names("sink")[-1] == "drawer"


def test_a_package_is_loaded_where_a_file_names_its_kind(
    tmp_path: Path, install: Install, capfd: pytest.CaptureFixture[str]
) -> None:
    """One that nobody names costs nothing, also where it is broken."""
    install("drawers", "drawer = drawers:SINK", code="raise RuntimeError('made of glass')")
    assert check(tmp_path, capfd, FILE.replace('"drawer"\nsize = 5', '"spec"\nspec = "-"'))[0] == 0
    code, said = check(tmp_path, capfd)
    assert code == 1
    assert "sink kind `drawer` of `drawers 1.0` cannot be loaded from `drawers:SINK`: RuntimeError: made of glass" in said
    assert "plant.toml:4" in said


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ("drawer = drawers:NOTHING", "cannot be loaded from `drawers:NOTHING`: AttributeError"),
        ("drawer = drawers:SOURCE", "expected a `SinkKind` of `tidelog.gateway.kinds` at `drawers:SOURCE`, got SourceKind"),
        ("drawer = drawers:OLD", f"is made for interface 0, and this tidelog has {INTERFACE}: upgrade the package"),
        ("drawer = drawers:NEW", f"is made for interface 99, and this tidelog has {INTERFACE}: upgrade tidelog"),
        ("drawer = drawers:LOOSE", "expected a struct of msgspec as its `settings`, got <class 'dict'>"),
        ("drawer = drawers:MISSING", "sink `desk`: it needs `drawers_of_oak`: install `drawers[oak]`"),
    ],
)
def test_a_kind_that_cannot_be_is_refused_by_name(
    tmp_path: Path, install: Install, capfd: pytest.CaptureFixture[str], points: str, reason: str
) -> None:
    """With the package that brings it, and what to do."""
    install("drawers", points)
    code, said = check(tmp_path, capfd)
    assert code == 1 and reason in said, said


def test_no_package_takes_a_name_that_is_taken(tmp_path: Path, install: Install, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither that of another one, nor one of ours: both are told, and nothing runs."""
    install("drawers", "drawer = drawers:SINK\nmqtt = drawers:SINK")
    install("cupboards", "drawer = cupboards:SINK")
    code, said = check(tmp_path, capfd)
    assert code == 1 and "`cupboards 1.0` and `drawers 1.0` bring a sink kind `drawer` each: uninstall all but one" in said
    code, said = check(tmp_path, capfd, FILE.replace('"drawer"', '"mqtt"'))
    assert code == 1 and "sink kind `mqtt` comes with tidelog, and `drawers 1.0` brings one, too: uninstall that" in said
    assert check(tmp_path, capfd, FILE.replace('"drawer"\nsize = 5', '"spec"\nspec = "-"'))[0] == 0


def test_our_kinds_keep_what_is_asked_of_others() -> None:
    """Each is of this interface, and its settings can stand beside the others."""
    end: End
    for end in ENDS:
        for name, kind in zip(names(end), own_kinds(end), strict=False):
            assert isinstance(kind, SourceKind if end == "source" else SinkKind) and kind.interface == INTERFACE
            check_settings(kind.settings, name, name)
