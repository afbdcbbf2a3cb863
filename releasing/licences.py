"""The licences of what tidelog and its extras install: `python -m releasing.licences` writes the page that lists them.

It reads what the packages that are installed here say of themselves, and what they need. The core has to be without copyleft
(`tests/test_repository.py`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from releasing.pins import EXTRAS, ROOT

PAGE = ROOT / "docs/reference/licences.md"
SHIPPED = (*EXTRAS, "spark")
"""The extras that users install."""
_COPYLEFT = re.compile(r"GPL|MPL|EPL|CDDL|EUPL|CC-BY-SA|General Public|Mozilla Public", re.IGNORECASE)
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*[\"']([\w.-]+)[\"']")
_LONGEST = 60
_HEAD = """# Licences

tidelog is under the Apache License 2.0. These are the packages that it installs, with what each says of its licence. What an
extra installs beside the core stands under its name; an extra that holds others has what they have, too.

This page is made by `python -m releasing.licences`, from the packages that are installed where it runs. Some are installed
on some systems alone, and are missing where they are not needed. `deploy/constraints.txt` in the repository says which
versions release builds have.
"""


def needed(extra: str = "") -> dict[str, Distribution]:
    """What tidelog installs with an extra, or without any; by name, in order."""
    found: dict[str, Distribution] = {}
    _walk("tidelog", {extra}, found, set())
    del found["tidelog"]
    return dict(sorted(found.items()))


def _walk(name: str, extras: set[str], found: dict[str, Distribution], seen: set[tuple[str, str]]) -> None:
    try:
        package = distribution(name)
    except PackageNotFoundError:  # on another system
        return
    found[_plain(name)] = package
    for extra in sorted(extras | {""}):
        if (_plain(name), extra) in seen:
            continue
        seen.add((_plain(name), extra))
        for other, more in _requirements(package, extra):
            _walk(other, more, found, seen)


def _requirements(package: Distribution, extra: str) -> Iterator[tuple[str, set[str]]]:
    for line in package.requires or ():
        requirement, _, marker = line.partition(";")
        wanted = _EXTRA.search(marker)
        if (wanted[1] if wanted else "") == extra and (match := _REQUIREMENT.match(requirement.strip())):
            yield match[1], set(filter(None, (match[2] or "").replace(" ", "").split(",")))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def licence(package: Distribution) -> str:
    """What a package says of its licence: an expression, or a classifier, or a word."""
    told = package.metadata
    if expression := told.get("License-Expression"):
        return str(expression)
    classifiers = told.get_all("Classifier") or []
    names = [item.rpartition(" :: ")[2] for item in classifiers if item.startswith("License ::") and item.count("::") > 1]
    text = str(told.get("License") or "").strip()
    return " and ".join(names) or (text if text and len(text) < _LONGEST else "not told")


def is_copyleft(told: str) -> bool:
    """Whether a licence is one with copyleft, and leaves no choice of another.

    >>> is_copyleft("LGPL-3.0-or-later"), is_copyleft("EPL-2.0 OR BSD-3-Clause")
    (True, False)
    """
    return all(_COPYLEFT.search(part) for part in told.split(" OR "))


def page() -> str:
    """The page, for what is installed here."""
    core = needed()
    every = core | {name: package for extra in SHIPPED for name, package in needed(extra).items()}
    copyleft = [name for name, package in sorted(every.items()) if is_copyleft(licence(package))]
    told = f"Under licences with copyleft for their own files are {', '.join(copyleft)}. The core needs none of them.\n"
    lines = [_HEAD, told, "## The core\n", *_table(core)]
    for extra in SHIPPED:
        more = {name: package for name, package in needed(extra).items() if name not in core}
        lines += [f"\n## `{extra}`\n", *_table(more)]
    return "\n".join(lines) + "\n"


def _table(packages: dict[str, Distribution]) -> Iterator[str]:
    yield "| package | licence |\n| --- | --- |"
    for name, package in packages.items():
        yield f"| [{name}](https://pypi.org/project/{name}/) | {licence(package)} |"


if __name__ == "__main__":
    Path(PAGE).write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
