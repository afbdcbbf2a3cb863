"""Release notes of fragments: each change has a small file in `changes/`, and a release gathers them in CHANGELOG.md.

`python -m releasing.notes` prints what is new. `python -m releasing.notes 0.2.0` gives the section `[Unreleased]` of the
changelog this version, with today's date and the fragments, begins a new one, and takes the fragments away.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("added", "changed", "deprecated", "removed", "fixed", "security")
"""The second part of a fragment's name: `state-outlives-versions.changed.md`."""
_NAME = re.compile(rf"[a-z0-9-]+\.({'|'.join(KINDS)})\.md")
_UNRELEASED = "## [Unreleased]\n"
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def fragments(folder: Path) -> dict[str, list[str]]:
    """What is new, by kind, in the order of the files' names; ValueError for a file that is no fragment."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.iterdir()):
        if path.name == "README.md":
            continue
        named, text = _NAME.fullmatch(path.name), path.read_text("utf-8").strip()
        if not named:
            raise ValueError(f"{path}: a fragment is called NAME.KIND.md, with KIND one of {', '.join(KINDS)}")
        if not all(line.startswith(("- ", "  ")) for line in text.splitlines()) or not text:
            raise ValueError(f"{path}: a fragment is a list, whose lines begin with `- ` or are indented by two spaces")
        found.setdefault(named[1], []).append(text)
    return found


def with_fragments(section: str, new: Mapping[str, list[str]]) -> str:
    """A section of the changelog, with what is new behind what it has of its kind.

    >>> print(with_fragments("### Added\\n\\n- one\\n", {"added": ["- two"], "fixed": ["- three"]}))
    ### Added
    <BLANKLINE>
    - one
    - two
    <BLANKLINE>
    ### Fixed
    <BLANKLINE>
    - three
    <BLANKLINE>
    """
    parts = re.split(r"^### (\w+)\n", section, flags=re.MULTILINE)
    known = {kind.lower(): text.strip() for kind, text in zip(parts[1::2], parts[2::2], strict=True)}
    for kind, texts in new.items():
        known[kind] = "\n".join(filter(None, [known.get(kind, ""), *texts]))
    return "\n".join(f"### {kind.capitalize()}\n\n{known[kind]}\n" for kind in KINDS if kind in known)


def released(changelog: str, version: str, new: Mapping[str, list[str]]) -> str:
    """The changelog with a version in place of what is unreleased."""
    before, rest = changelog.split(_UNRELEASED)
    end = rest.index("\n## [") + 1
    head = f"## [{version}] - {datetime.now(UTC):%Y-%m-%d}\n"
    return f"{before}{_UNRELEASED}\n{head}\n{with_fragments(rest[:end], new)}\n{rest[end:]}"


def main() -> int:
    """Print what is new, or make the notes of a version."""
    folder, changelog = ROOT / "changes", ROOT / "CHANGELOG.md"
    new = fragments(folder)
    if len(sys.argv) == 1:
        sys.stdout.write(with_fragments("", new))
        return 0
    if not _VERSION.fullmatch(sys.argv[1]):
        sys.stderr.write(f"expected a version such as 0.2.0, got `{sys.argv[1]}`\n")
        return 2
    changelog.write_text(released(changelog.read_text("utf-8"), sys.argv[1], new), "utf-8")
    for path in folder.glob("*.*.md"):
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
