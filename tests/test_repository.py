"""What the repository says of itself is true."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tidelog
from releasing.licences import PAGE, SHIPPED, is_copyleft, licence, needed
from releasing.notes import fragments, released
from releasing.pins import EXTRAS, PINS
from tidelog.runtime import interfaces as public
from tidelog.runtime.ports import interfaces

ROOT = Path(__file__).parent.parent


INTERNALS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "internals").rglob("*.md"))
MODULES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for folder, _, names in os.walk(ROOT / "tidelog", followlinks=True)
    for path in (Path(folder, name) for name in sorted(names) if name.endswith(".py"))
}
"""The text of each module of the package, by its path."""
WITH_EXAMPLES = sorted(
    name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name, text in MODULES.items() if ">>> " in text
)


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md", *INTERNALS])
def test_paths_named_in_the_maps_exist(document: str) -> None:
    """Every path in the documents for developers leads to something; the architecture names more than twenty."""
    named = re.findall(r"`(?!build/)([a-z]+/[a-z_/.]*)`", (ROOT / document).read_text("utf-8"))
    assert document != "ARCHITECTURE.md" or len(named) > 20
    # a source distribution has the code in `tidelog/` alone, where a clone has links
    assert [path for path in named if not (ROOT / path).exists() and not (ROOT / "tidelog" / path).exists()] == []


def test_the_architecture_is_one_screen() -> None:
    """ARCHITECTURE.md has 120 lines at most, none of which is wider than the code's."""
    lines = (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 125


def test_help_lists_every_target() -> None:
    """`make help` has a line for each target but those that fetch what tests need."""
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", "")
    phony = re.findall(r"^\.PHONY: (.*)", makefile, re.MULTILINE)
    targets = {name for names in phony for name in names.split()} - {
        "java",
        "mosquitto",
        "postgresql",
        "alertmanager",
        "servers",
        "chromium",
        "packaging",
    }
    done = subprocess.run(["make", "--no-print-directory", "help"], capture_output=True, text=True, cwd=ROOT, check=True)
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert {name for name, _ in lines} == targets
    assert all(told for _, told in lines)


def test_public_names_are_pinned() -> None:
    """The front door exports these names, and no others."""
    assert sorted(tidelog.__all__) == [
        "ActorStatistics",
        "Answer",
        "Backlog",
        "BatchPlan",
        "Change",
        "ConnectorError",
        "DataError",
        "Decision",
        "Deed",
        "Diagnostic",
        "EndlessError",
        "Engine",
        "GroundLiteral",
        "HypotheticalAnswer",
        "Keep",
        "LateError",
        "Materialisation",
        "MaterialisationStatistics",
        "MemorySink",
        "MemorySource",
        "Open",
        "OpenAlarm",
        "OperatorError",
        "Plan",
        "ProgramError",
        "PushSource",
        "RestartPolicy",
        "Session",
        "SnapshotError",
        "SpecError",
        "StateDirectory",
        "StateError",
        "Supervision",
        "TidelogError",
        "Violation",
        "backtest",
        "compile",
        "compile_batch",
        "compile_batch_path",
        "compile_path",
        "consistent",
        "entails",
        "materialise",
        "open_sink",
        "open_source",
        "read_frame",
    ]
    assert all(hasattr(tidelog, name) for name in tidelog.__all__)


def test_interfaces_have_their_public_name() -> None:
    """`tidelog.runtime.interfaces` has every public name of the module that defines them."""
    defined = {name for name, value in vars(interfaces).items() if getattr(value, "__module__", None) == interfaces.__name__}
    assert defined >= {"Source", "Sink", "Listener", "Batch", "Observer"}
    assert defined <= set(public.__all__)
    assert all(getattr(public, name) is getattr(interfaces, name) for name in public.__all__)


def test_modules_stay_readable() -> None:
    """No module has more than 500 lines."""
    assert len(MODULES) > 300
    lines = {name: len(text.splitlines()) for name, text in MODULES.items()}
    long = {name: count for name, count in lines.items() if count > 500}
    assert long == {}


def test_modules_with_examples_are_found() -> None:
    """Each room has some, also below the folders that `tidelog/` links to."""
    assert {module.split(".")[1] for module in WITH_EXAMPLES} >= {"plans", "operators", "runtime", "connectors", "commands"}
    assert len(WITH_EXAMPLES) > 100


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_docstring_examples_run(module: str) -> None:
    """Every example in a docstring gives what it says."""
    done = doctest.testmod(importlib.import_module(module))
    assert done.attempted > 0
    assert done.failed == 0


def test_fragments_of_the_changelog_are_read() -> None:
    """Each file in `changes/` is a list of what has changed, under a name with its kind; a release gathers all of them."""
    new = fragments(ROOT / "changes")
    text = released((ROOT / "CHANGELOG.md").read_text("utf-8"), "1000.0.0", new)
    assert text.count("\n## [Unreleased]\n") == text.count("\n## [1000.0.0] - ") == 1
    for points in new.values():
        assert all(point in text for point in points)


def test_the_core_is_without_copyleft() -> None:
    """What is installed without an extra is under permissive licences, and each package says under which."""
    core = needed()
    assert {"anyio", "lark", "msgspec", "trio"} <= core.keys()
    for name, package in core.items():
        assert licence(package) != "not told", name
        assert not is_copyleft(licence(package)), name


def test_licences_and_pins_are_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of licences has what each extra that users install brings, and release builds pin all of it by hashes."""
    monkeypatch.setattr(sys, "path", [place for place in sys.path if "_vendor" not in place])  # those of setuptools
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    developing = {"bench", "coverage", "demo", "docs", "lint", "package", "test"}
    assert project["optional-dependencies"].keys() - developing - {"http"} == set(SHIPPED)
    page = PAGE.read_text("utf-8")
    for extra in SHIPPED:
        _, _, section = page.partition(f"\n## `{extra}`\n")
        listed = set(re.findall(r"^\| \[([^]]+)\]", section.partition("\n## ")[0], re.MULTILINE))
        assert needed(extra).keys() - needed().keys() <= listed, extra
    blocks = re.split(r"\n(?=[a-z])", PINS.read_text("utf-8").partition("\n")[2])
    pinned = {block.partition("==")[0] for block in blocks}
    assert all("==" in block and "--hash=sha256:" in block for block in blocks)
    wanted = [*project["dependencies"], *(item for extra in EXTRAS for item in project["optional-dependencies"][extra])]
    names = {re.split(r"[<>=\[]", item)[0] for item in wanted} - {"tidelog"}
    assert names <= pinned
