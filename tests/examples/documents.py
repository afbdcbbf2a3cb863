"""The code blocks of the documents, found and run.

What a fence says of its block: `python` is run, in order, one namespace a document, and prints what the `output` block
behind it shows. `console` holds commands behind `$ `, each with what it prints. A fence with a file's name behind its
language (`tide hot.tide`) puts that file into the working directory; other `tide` blocks must compile. Anything else is
for reading only.
"""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tidelog
from children import WAIT
from pages.blocks import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")))


def blocks_of(document: str) -> list[Block]:
    """The fenced blocks of a document, in order."""
    return blocks((ROOT / document).read_text("utf-8"))


def run_document(document: str, folder: Path) -> list[tuple[str, str, str]]:
    """Run a document in a folder; returns for each thing that printed its place, what was promised, what came."""
    (folder / "examples").symlink_to(ROOT / "examples")
    namespace: dict[str, Any] = {"__name__": "__document__"}
    found: list[tuple[str, str, str]] = []
    printed: tuple[str, str] | None = None
    for block in blocks_of(document):
        place = f"{document}:{block.line}"
        if block.file is not None:
            (folder / block.file).write_text(block.text, "utf-8")
        elif block.language == "tide":
            tidelog.compile(block.text, name=place)
        elif block.language == "console":
            found += [(place, _tidy(shown), _tidy(run_command(line, folder))) for line, shown in _commands(block.text)]
        elif block.language == "output":
            assert printed is not None, f"{place}: an output without a python block before it"
            found.append((place, block.text, printed[1]))
            printed = None
        if block.language == "python":
            assert not (printed and printed[1]), f"{printed}: the document does not show what this prints"
            printed = place, _run_python(block.text, place, namespace)
    assert not (printed and printed[1]), f"{printed}: the document does not show what this prints"
    return found


def _tidy(text: str) -> str:
    """Without the blank lines at the end."""
    return text.rstrip("\n") + "\n" if text.strip() else ""


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block (`\\` joins lines), with what the block shows behind it."""
    command, shown, is_open = "", "", False
    for line in text.splitlines(keepends=True):
        if is_open:
            command, is_open = command + line, line.endswith("\\\n")
        elif line.startswith("$ "):
            if command:
                yield command, shown
            command, shown, is_open = line[2:], "", line.endswith("\\\n")
        else:
            shown += line
    yield command, shown


def run_command(command: str, folder: Path) -> str:
    """What a command prints with bash in a folder, on standard output and standard error together."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}{os.pathsep}/usr/sbin",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        timeout=WAIT,
        check=False,
    )
    return done.stdout.decode()


def _run_python(text: str, place: str, namespace: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, place, "exec"), namespace)  # noqa: S102 - the project's own documents
    return printed.getvalue()
