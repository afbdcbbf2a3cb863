"""The recipes of the cookbook: each page's program, facts, command and answers, read from its code blocks."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from pages.blocks import blocks

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "howto" / "recipes"
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Recipe:
    """A recipe: the name of its page, what it shows, and how it is run."""

    name: str
    title: str
    program: str
    facts: str
    emit: str
    lateness: str
    by: str
    iso: bool
    answers: str


def recipes() -> list[Recipe]:
    """All recipes, sorted by title."""
    found = [read_recipe(path) for path in FOLDER.glob("*.md") if path.stem != "index"]
    return sorted(found, key=lambda recipe: recipe.title)


def read_recipe(path: Path) -> Recipe:
    """The recipe of a page; ValueError where the page lacks the title, the program, the facts or the command."""
    text = path.read_text("utf-8")
    title = _TITLE.search(text)
    found = {block.file or block.language: block.text for block in blocks(text)}
    try:
        program, facts, console = found[f"{path.stem}.tide"], found[f"{path.stem}.txt"], found["console"]
    except KeyError as missing:
        raise ValueError(f"{path}: a recipe has a block {missing}") from None
    if title is None:
        raise ValueError(f"{path}: a recipe has a title")
    command, _, answers = console.partition("\n")
    words = shlex.split(command.removeprefix("$ "))
    source = words[words.index("--in") + 1]
    return Recipe(
        path.stem,
        title[1],
        program,
        facts,
        _option(words, "--emit", "intervals"),
        _option(words, "--lateness", "0"),
        source.partition("?by=")[2],
        "--iso" in words,
        answers,
    )


def _option(words: list[str], name: str, otherwise: str) -> str:
    return words[words.index(name) + 1] if name in words else otherwise


def write_recipes(folder: Path) -> None:
    """Write each recipe's program and facts as files, for commands that read files."""
    folder.mkdir(parents=True, exist_ok=True)
    for recipe in recipes():
        put(folder / f"{recipe.name}.tide", recipe.program.encode())
        put(folder / f"{recipe.name}.txt", recipe.facts.encode())


def put(path: Path, content: bytes) -> None:
    """Write a file in one step, if it is not there as it should be: others may read it meanwhile."""
    if path.is_file() and path.read_bytes() == content:
        return
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
