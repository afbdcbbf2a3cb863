"""Starting costs little: what is not used is not loaded, and all that is exported is found."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tidelog

LOADED = """
import sys
from tidelog.cli import main
code = main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded."""
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


def test_the_version_needs_no_parser() -> None:
    """`--version` loads neither a command nor what commands need."""
    assert loaded("--version").isdisjoint({"lark", "anyio", "msgspec", "tidelog.compiling", "tidelog.commands.streams.run"})


@pytest.mark.parametrize("command", ["check", "fmt"])
def test_a_check_needs_no_runtime(command: str, tmp_path: Path) -> None:
    """`check` and `fmt` load what reads a program, and nothing that runs it."""
    program = tmp_path / "p.tide"
    program.write_text("timeline integer.\nalarm(X) :- boxminus[0,2] hot(X), not ok(X).\n")
    modules = loaded(command, str(program))
    assert "tidelog.plans.compiling.compile" in modules
    assert modules.isdisjoint({"anyio", "trio", "asyncio", "msgspec", "tidelog.runtime", "tidelog.plans.compiling.batch"})


def test_a_run_loads_no_more_than_it_uses(tmp_path: Path) -> None:
    """Without a state, an outbox or a page: nothing that stores, and nothing that serves."""
    program, facts = tmp_path / "p.tide", tmp_path / "f.jsonl"
    program.write_text("timeline integer. input temp(v). hot(V) :- temp(V), V > 22.\n")
    facts.write_text("")
    modules = loaded("run", str(program), "--in", str(facts))
    assert "tidelog.runtime.running.runner" in modules
    unused = (
        "runtime.durable.ledger",
        "runtime.migration",
        "connectors.store.state_store",
        "plans.compiling.batch",
        "connectors.http.server",
    )
    assert modules.isdisjoint({"asyncio", "sqlite3", *[f"tidelog.{name}" for name in unused]})


@pytest.mark.parametrize("package", ["tidelog", "tidelog.connectors"])
def test_what_is_loaded_late_is_what_checkers_see(package: str) -> None:
    """A package's table of names says what its imports for type checkers say, and each name is found."""
    module = import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    seen = {
        alias.name: item.module
        for block in tree.body
        if isinstance(block, ast.If)
        for item in block.body
        if isinstance(item, ast.ImportFrom)
        for alias in item.names
    }
    table = {name: f"{package}.{home}" for home, names in module._HOMES.items() for name in names}
    assert seen == table
    assert sorted(table) == sorted(module.__all__)
    for name, home in table.items():
        assert getattr(module, name) is getattr(import_module(home), name)
        assert name in dir(module)


def test_what_is_not_there_is_an_attribute_error() -> None:
    """As for any module; a subpackage needs no import of its own."""
    with pytest.raises(AttributeError, match="module `tidelog` has no attribute `Sesion`"):
        _ = tidelog.Sesion  # type: ignore[attr-defined]
    code = "import tidelog; print(tidelog.connectors.MemorySink.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "MemorySink\n"
