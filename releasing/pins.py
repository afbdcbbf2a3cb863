"""The versions that releases are built with, and that users' extras need, with their hashes: `python -m releasing.pins`.

It writes two files, for all systems and versions of Python that tidelog runs on. `deploy/constraints.txt` has each extra
that a gateway may need: `pip install --require-hashes -r deploy/constraints.txt` and `pip install --no-deps tidelog`
install that. `building/constraints.txt` has what wheels are built with, the compiler too, and the tools of
`.github/workflows/release.yml`: `pip install --require-hashes -c building/constraints.txt build`, and
`PIP_BUILD_CONSTRAINT` for what a build installs itself. It needs `uv` (`pip install uv`), and asks the package index that
is set up. With `--requirements` it prints what a wheel with compiled modules is built with, and writes nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("gateway", "calendar", "modbus", "opcua", "frames", "s3", "lsp", "completion", "pygments")
"""All but those that develop or measure tidelog, and Spark, whose clusters bring their own."""
TOOLS = ("build", "cibuildwheel", "cyclonedx-bom", "twine")
"""What the workflow of a release installs."""
PINS = ROOT / "deploy/constraints.txt"
BUILD_PINS = ROOT / "building/constraints.txt"
_HEAD = "# Made by `python -m releasing.pins`: what {}. Do not edit.\n"


def main() -> int:
    """Write the pins anew; the exit code is that of uv."""
    if sys.argv[1:] == ["--requirements"]:
        sys.stdout.write("".join(f"{line}\n" for line in build_requirements()))
        return 0
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    code = _write(PINS, "release builds and images install", ["pyproject.toml", *extras], "")
    return code or _write(BUILD_PINS, "releases are built with", ["-"], "\n".join([*build_requirements(), *TOOLS]))


def build_requirements() -> list[str]:
    """What a wheel with compiled modules is built with."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    compiling = [*settings["tool"]["tidelog"]["compile-requires"], *settings["project"]["dependencies"]]
    return [*settings["build-system"]["requires"], *compiling]


def _write(target: Path, told: str, wanted: Sequence[str], text: str) -> int:
    command = [sys.executable, "-m", "uv", "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--upgrade", "--quiet", "--no-header", "--no-annotate", *wanted]
    done = subprocess.run(command, cwd=ROOT, input=text.encode(), stdout=subprocess.PIPE, check=False)  # noqa: S603 - our own
    if done.returncode == 0:
        target.write_text(_HEAD.format(told) + done.stdout.decode(), "utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
