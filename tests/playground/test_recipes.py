"""The cookbook's recipes give the answers that their pages show, also as the playground runs them."""

from __future__ import annotations

import doctest

import pytest

from pages import blocks
from pages.command_line import command_reference
from pages.playground.running import Options, run
from pages.recipes import Recipe, recipes
from tidelog.cli import COMMANDS

ALL = recipes()


def as_options(recipe: Recipe, **changed: object) -> Options:
    """The options with which the page runs its recipe."""
    kept = {name: getattr(recipe, name) for name in ("emit", "lateness", "by", "iso")}
    return Options(**{**kept, **changed})  # type: ignore[typeddict-item]


def test_the_cookbook_has_its_recipes() -> None:
    """There are enough recipes, each with answers, and no two have one title."""
    assert len(ALL) >= 15
    assert all(recipe.answers for recipe in ALL)
    assert len({recipe.title for recipe in ALL}) == len(ALL)


@pytest.mark.parametrize("recipe", ALL, ids=lambda recipe: recipe.name)
def test_recipes_give_what_their_pages_show(recipe: Recipe) -> None:
    """The playground gives the answers of the page, tells nothing else but what is late, and draws a timeline."""
    outcome = run(recipe.program, recipe.facts, as_options(recipe))
    shown = [line for line in recipe.answers.splitlines() if not line.startswith(("tidelog:", f"{recipe.name}.txt:"))]
    assert sorted(outcome["answers"].splitlines()) == sorted(shown)
    assert [line for line in outcome["messages"].splitlines() if "late:" not in line] == []
    assert outcome["picture"].startswith("<svg")


def test_playground_tells_what_is_wrong() -> None:
    """A wrong program, a wrong fact, and a wrong option are messages with their places; the rest still counts."""
    recipe = next(item for item in ALL if item.name == "duration")
    assert "program:1:" in run("alarm(X, Y) :- hot(X).", "", as_options(recipe))["messages"]
    broken = run(recipe.program, "temp(p1)@0\n" + recipe.facts, as_options(recipe))
    assert "facts:1: `temp` takes 2 arguments, got 1" in broken["messages"]
    assert broken["answers"] == recipe.answers
    assert (
        "no input has a field `pmp`; did you mean `pump`?"
        in run(recipe.program, "", as_options(recipe, by="pmp"))["messages"]
    )


def test_playground_answers_questions() -> None:
    """A program that asks is answered in words."""
    program = "timeline integer.\ninput p(x).\ninput q(x).\nr(X)@T :- p(X)@T, q(X)@T+1.\nask r(X)@T.\n"
    outcome = run(program, "p(a)@1\nq(a)@2\n", as_options(ALL[0], emit="changes", lateness="0", by="", iso=False))
    assert "possible: r(a)" in outcome["answers"]
    assert "r(a)@[1.." in outcome["answers"]


@pytest.mark.slow
def test_command_reference_names_every_command() -> None:
    """The page of the command line has a section for each command, and a row for each option."""
    text = command_reference()
    assert [name for name in COMMANDS if f"## tidelog {name}" not in text] == []
    assert "`--lateness" in text
    assert "%(" not in text


def test_blocks_are_found_as_their_example_says() -> None:
    """The example in the module that reads code blocks gives what it says."""
    assert doctest.testmod(blocks) == doctest.TestResults(failed=0, attempted=1)
