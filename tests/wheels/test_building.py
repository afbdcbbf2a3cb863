"""What is built with what; and that the workflow files say the same as the files that they start."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from examples.documents import ROOT

from releasing.pins import BUILD_PINS, TOOL_PINS, TOOLS, build_requirements

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = {path.name: path.read_text("utf-8") for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
CHECKS: dict[str, Any] = yaml.safe_load(WORKFLOWS["checks.yml"])
RELEASE: dict[str, Any] = yaml.safe_load(WORKFLOWS["release.yml"])


def test_a_pure_wheel_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """With TIDELOG_COMPILE=1 the compiler is asked for, and what tidelog depends on, whose types it reads."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [*sys.path])  # setuptools adds what it has packed itself, for all who come later
    monkeypatch.delenv("TIDELOG_COMPILE", raising=False)
    backend = runpy.run_path(str(ROOT / "building" / "backend.py"))
    assert not [name for name in backend["get_requires_for_build_wheel"]() if name.startswith("mypy")]
    monkeypatch.setenv("TIDELOG_COMPILE", "1")
    needed = backend["get_requires_for_build_wheel"]()
    assert "mypy>=2.4,<3" in needed
    assert set(SETTINGS["project"]["dependencies"]) <= set(needed)


def test_the_compiler_is_the_one_that_checks() -> None:
    """Wheels are compiled by the same mypy that `make lint` runs."""
    assert set(SETTINGS["tool"]["tidelog"]["compile-requires"]) <= set(SETTINGS["project"]["optional-dependencies"]["lint"])


def test_every_python_that_is_promised_is_built() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(SETTINGS["project"]["classifiers"]))
    assert [f"cp{version.replace('.', '')}-*" for version in promised] == SETTINGS["tool"]["cibuildwheel"]["build"]
    assert {"3.11", *CHECKS["jobs"]["python"]["strategy"]["matrix"]["python"]} == set(promised)


def test_each_part_of_the_checks_has_its_machine() -> None:
    """The workflow names every function of `.ci/run`, and no other."""
    parts = re.findall(r"^(\w+)\(\) \{", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    assert CHECKS["jobs"]["part"]["strategy"]["matrix"]["part"] == parts


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_by_commit(name: str) -> None:
    """A tag can be moved; a comment says which version the commit is."""
    used = re.findall(r"uses: (.*)", WORKFLOWS[name])
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_only_jobs_that_publish_or_sign_may_write() -> None:
    """Whatever builds or runs code of others has nothing but the right to read: the image is built by one job, and pushed
    by another, which takes it as it is, once all has been published."""
    assert all(yaml.safe_load(text)["permissions"] == {"contents": "read"} for text in WORKFLOWS.values())
    writing = {name for name, job in RELEASE["jobs"].items() if "write" in job.get("permissions", {}).values()}
    assert writing == {"attest", "publish", "push", "release"}
    assert set(RELEASE["jobs"]["push"]["needs"]) == {"image", "publish"}
    assert not [step for step in RELEASE["jobs"]["push"]["steps"] if "checkout" in step.get("uses", "")]
    assert not re.search(
        r"pip|apt-get|buildah|python", "\n".join(step.get("run", "") for step in RELEASE["jobs"]["push"]["steps"])
    )
    assert RELEASE["jobs"]["publish"]["environment"]["name"] == "pypi"
    assert not [job for job in CHECKS["jobs"].values() if "permissions" in job]


@pytest.mark.parametrize(("pins", "wanted"), [(BUILD_PINS, build_requirements()), (TOOL_PINS, TOOLS)])
def test_what_builds_is_pinned_by_hashes(pins: Path, wanted: Sequence[str]) -> None:
    """What wheels are built with, the compiler too, and each tool of the workflow."""
    blocks = re.split(r"\n(?=[a-z])", pins.read_text("utf-8").partition("\n")[2])
    assert all("==" in block and "--hash=sha256:" in block for block in blocks)
    assert {re.split(r"[<>=\[]", item)[0] for item in wanted} <= {block.partition("==")[0] for block in blocks}


def test_releases_are_built_with_what_is_pinned() -> None:
    """The workflow installs no other tools; and what a build installs itself is pinned, too."""
    lines = re.findall(r"pip install (.*)", WORKFLOWS["release.yml"])
    ours = [line for line in lines if re.fullmatch(r"--require-hashes --requirement (source/\*/)?building/tools\.txt", line)]
    assert len(ours) == 3
    assert [line for line in lines if line not in ours and "tidelog" not in line] == []
    assert "PIP_CONSTRAINT=building/constraints.txt python -m build" in WORKFLOWS["release.yml"]
    wheels = SETTINGS["tool"]["cibuildwheel"]
    assert (wheels["build-frontend"], wheels["environment"]["PIP_BUILD_CONSTRAINT"]) == ("pip", "building/constraints.txt")


def test_nothing_is_published_that_was_not_tried() -> None:
    """Publishing waits for attestations, these for wheels, their installation and the bill of materials; and for a tag."""
    assert RELEASE["jobs"]["publish"]["needs"] == "attest"
    assert set(RELEASE["jobs"]["attest"]["needs"]) == {"wheels", "installs", "sbom"}
    assert RELEASE["jobs"]["attest"]["if"] == "github.ref_type == 'tag'"
