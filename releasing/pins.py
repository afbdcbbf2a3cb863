"""The versions that release builds and images install, with their hashes: `python -m releasing.pins` renews them.

It writes `deploy/constraints.txt`: for all systems and versions of Python that tidelog runs on, and for each extra that a
gateway may need. `pip install --require-hashes -r deploy/constraints.txt` and `pip install --no-deps tidelog` install that.
It needs `uv` (`pip install uv`), and asks the package index that is set up.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("gateway", "calendar", "modbus", "opcua", "frames", "s3", "lsp", "completion", "pygments")
"""All but those that develop or measure tidelog, and Spark, whose clusters bring their own."""
PINS = ROOT / "deploy/constraints.txt"
_HEAD = "# Made by `python -m releasing.pins`: what release builds and images install. Do not edit.\n"


def main() -> int:
    """Write the pins anew; the exit code is that of uv."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--upgrade", "--quiet", "--no-header", "--no-annotate", "pyproject.toml"]
    for extra in EXTRAS:
        command += ["--extra", extra]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False)  # noqa: S603 - a fixed command
    if done.returncode == 0:
        PINS.write_text(_HEAD + done.stdout.decode(), "utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
