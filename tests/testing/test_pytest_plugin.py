"""The plug-in of pytest: the same files, as tests of pytest's; nothing where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TESTS = """\
program = "pump.tide"

[[test]]
name = "a hot reading"
facts = "reading(p1,95)@3"
expect = "hot(p1)@3"

[[test]]
name = "a cold one"
facts = "reading(p1,5)@3"
expect = "hot(p1)@3"
"""
ALONE = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # where the package is installed, it would be loaded twice
LOADED = """
import sys, pytest
pytest.main(["-q", "-p", "tidelog.pytest_plugin", "-p", "no:cacheprovider"])
print(*[name for name in sys.modules if name.startswith("tidelog")])
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """pytest in a folder, with the plug-in."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tidelog.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
        *options,
    ]
    return subprocess.run(command, cwd=folder, env=ALONE, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program and its tests, and a test of Python's."""
    (tmp_path / "pump.tide").write_text("hot(P) :- reading(P, C), C >= 90.\n")
    (tmp_path / "pump.tide.toml").write_text(TESTS)
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    return tmp_path


def test_tests_of_rules_are_collected(folder: Path) -> None:
    """Each is an item, with its name and its line, beside those of Python."""
    done = run(folder, "-v")
    assert done.returncode == 1
    assert "pump.tide.toml::a hot reading PASSED" in done.stdout
    assert "pump.tide.toml::a cold one FAILED" in done.stdout
    assert "    - hot(p1)@3\n" in done.stdout
    assert "Traceback" not in done.stdout
    assert "test_it.py::test_it PASSED" in done.stdout


def test_a_file_that_cannot_be_used_is_an_error(folder: Path) -> None:
    """It is shown with its place, and ends the collection, as for any other file."""
    (folder / "pump.tide.toml").write_text(TESTS.replace("expect", "expct"))
    (folder / "none.tide.toml").write_text(TESTS.replace("pump.tide", "none.tide"))
    done = run(folder)
    assert done.returncode == 2
    assert "unknown key `expct` of a test" in done.stdout
    assert "Traceback" not in done.stdout
    assert "cannot read the program `" in done.stdout


def test_it_costs_nothing_where_there_is_no_file(folder: Path) -> None:
    """Nothing of tidelog but the plug-in itself is loaded, and no test is changed."""
    (folder / "pump.tide.toml").unlink()
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=folder, env=ALONE, capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert sorted(loaded) == ["tidelog", "tidelog.native", "tidelog.plans", "tidelog.plans.lazy", "tidelog.pytest_plugin"]
    assert "1 passed" in done.stdout


def test_pytest_finds_it() -> None:
    """The package names it among its entry points."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"tidelog": "tidelog.pytest_plugin"}
