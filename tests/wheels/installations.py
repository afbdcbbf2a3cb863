"""Places where nothing of tidelog is installed, a folder with its wheel as the index, and what installs it there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from examples.documents import DOCUMENTS, ROOT

from children import WAIT
from tidelog.version import VERSION

_TOOLS = ("uv", "uvx", "pipx")
_NOT_COPIED = (".git", ".venv", "build", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "node_modules")
_COMMAND = re.compile(r"(?<![/\w])(?P<tool>pip install|pipx install|uv tool install|uvx)\s+(?P<rest>[^`|\n]*)")
_OURS = re.compile(r"tidelog(\[[a-z0-9,]+\])?\Z|\.(\[[a-z0-9,]+\])?\Z")


@dataclass(frozen=True)
class Line:
    """What a document says to install, and how: `pip install 'tidelog[frames]'`; or `.`, within a clone."""

    tool: str
    target: str
    beside: tuple[str, ...] = ()
    """What else is installed with it."""


def lines_of(text: str) -> list[Line]:
    """The commands of a document that install tidelog, each once.

    Without those that compile it, which `.ci/compiled` runs, and those of an environment in some other folder.
    """
    found: dict[Line, None] = {}
    for shown in text.splitlines():
        for command in _COMMAND.finditer(shown):
            words = shlex.split(command["rest"].partition(" #")[0].partition("&&")[0])
            target, *beside = [word for word in words if not word.startswith("-")] or [""]
            if _OURS.match(target) and "TIDELOG_COMPILE=1" not in shown:
                found[Line(command["tool"], target, tuple(beside) if command["tool"] == "pip install" else ())] = None
    return list(found)


def lines_of_all() -> dict[Line, list[str]]:
    """Each command that installs tidelog, and the documents that say it."""
    found: dict[Line, list[str]] = {}
    for document in DOCUMENTS:
        for line in lines_of((ROOT / document).read_text("utf-8")):
            found.setdefault(line, []).append(document)
    return found


@dataclass
class Place:
    """A home of its own, and a PATH with the installers and what the system has; for `pip`, an environment of Python."""

    folder: Path
    wheels: Path
    clone: Path
    bin: Path = field(init=False)
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        tools = self.folder / "tools"
        tools.mkdir(parents=True)
        for name in _TOOLS:
            (tools / name).symlink_to(Path(sys.executable).parent / name)
        self.bin = self.folder / "env" / "bin"
        home = self.folder / "home"
        home.mkdir()
        caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "VIRTUAL_ENV", "UV_", "PIPX_", "COV_", "PYTEST_", "TIDELOG_"))
        }
        self.environment = {
            "PIP_CACHE_DIR": str(caches / "pip"),
            "UV_CACHE_DIR": str(caches / "uv"),
            **kept,
            "HOME": str(home),
            "PATH": f"{self.bin}:{tools}:/usr/local/bin:/usr/bin:/bin:/usr/sbin",  # where Debian puts servers
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_COMPILE": "0",  # what is not imported is not compiled: pip takes this as the value of `compile`
            "UV_FIND_LINKS": str(self.wheels),
            "UV_PYTHON": sys.executable,
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_TOOL_BIN_DIR": str(self.bin),
            "UV_TOOL_DIR": str(self.folder / "uv"),
            "PIPX_HOME": str(self.folder / "pipx"),
            "PIPX_BIN_DIR": str(self.bin),
            "PIPX_DEFAULT_PYTHON": sys.executable,
        }

    def run(self, command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command with bash in this place; what it says on both outputs is its `stdout`."""
        return subprocess.run(
            ["bash", "-c", command],
            cwd=cwd or self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WAIT,
            check=False,
        )

    def does(self, command: str, cwd: Path | None = None) -> str:
        """What a command says, which has to succeed."""
        done = self.run(command, cwd)
        assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}"
        return done.stdout

    def install(self, line: Line) -> None:
        """Do what a document says; `pip` installs into a new environment. What is installed is our wheel, of this tree."""
        if line.tool == "pip install":
            self.does(f"uv venv --quiet --seed {self.bin.parent}")
        self.does(f"{line.tool} {shlex.join([line.target, *line.beside])}", self.clone)
        code = "import tidelog, sys; print(tidelog.__file__)"
        found = Path(self.does(f"{shlex.quote(str(self.python))} -I -c {shlex.quote(code)}").strip()).parent
        assert found.is_relative_to(self.folder), f"{found} was there before"
        with zipfile.ZipFile(next(self.wheels.glob("*.whl"))) as wheel:
            assert (found / "cli.py").read_bytes() == wheel.read("tidelog/cli.py")

    @property
    def python(self) -> Path:
        """The Python that tidelog was installed for: the one that the command's first line names."""
        first = (self.bin / "tidelog").read_text("utf-8").splitlines()[0]
        return Path(first.removeprefix("#!").split()[0])


def build_wheel(folder: Path) -> tuple[Path, Path]:
    """A copy of this tree, and a folder with its wheel."""
    clone, wheels = folder / "clone", folder / "wheels"
    shutil.copytree(ROOT, clone, symlinks=True, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--wheel-dir", str(wheels), "."], cwd=clone, capture_output=True, text=True, timeout=WAIT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in wheels.iterdir()] == [f"tidelog-{VERSION}-py3-none-any.whl"]
    return clone, wheels
