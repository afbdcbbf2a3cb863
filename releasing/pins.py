"""The versions that releases are built with, and that users' extras need, with their hashes: `python -m releasing.pins`.

It writes three files, for all systems and versions of Python that tidelog runs on, each for `pip install --require-hashes
-r`. `deploy/constraints.txt` has each extra that a gateway may need: behind it, `pip install --no-deps tidelog` installs
that. `building/constraints.txt` has what a wheel is built with, the compiler too: for `PIP_BUILD_CONSTRAINT`, or a folder
of wheels. `building/tools.txt` has what the workflow of a release installs. It needs `uv` (`pip install uv`), and asks the
package index that is set up.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = (
    "gateway",
    "calendar",
    "kafka",
    "modbus",
    "nats",
    "opcua",
    "otel",
    "sparkplug",
    "sql",
    "frames",
    "delta",
    "iceberg",
    "lsp",
    "completion",
    "pygments",
)
"""All but those that develop or measure tidelog, and Spark, whose clusters bring their own."""
TOOLS = ("build", "cibuildwheel", "cyclonedx-bom", "pip", "twine")
"""What the workflow of a release installs. Older versions of pip take no hashes from constraints."""
PINS = ROOT / "deploy/constraints.txt"
BUILD_PINS = ROOT / "building/constraints.txt"
TOOL_PINS = ROOT / "building/tools.txt"
_HEAD = "# Made by `python -m releasing.pins`: what {}. Do not edit.\n"


def main() -> int:
    """Write the pins anew; the exit code is that of uv."""
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    return (
        _write(PINS, "release builds and images install", ["pyproject.toml", *extras])
        or _write(BUILD_PINS, "wheels are built with", ["-"], build_requirements())
        or _write(TOOL_PINS, "the workflow of a release installs", ["-"], TOOLS)
    )


def build_requirements() -> list[str]:
    """What a wheel with compiled modules is built with."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    compiling = [*settings["tool"]["tidelog"]["compile-requires"], *settings["project"]["dependencies"]]
    return [*settings["build-system"]["requires"], *compiling]


def _write(target: Path, told: str, wanted: Sequence[str], lines: Sequence[str] = ()) -> int:
    command = [sys.executable, "-m", "uv", "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--upgrade", "--quiet", "--no-header", "--no-annotate", *wanted]
    given = "\n".join(lines).encode()
    done = subprocess.run(command, cwd=ROOT, input=given, stdout=subprocess.PIPE, check=False)  # noqa: S603 - our own
    if done.returncode == 0:
        target.write_text(_HEAD.format(told) + done.stdout.decode(), "utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
