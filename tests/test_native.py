"""Which build runs, the compiled one or the sources."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from children import WAIT
from tidelog.operators.stores.room import UNBOUNDED
from tidelog.plans.data.timeline import LIMIT, NEG, POS

_LOADING = """
import sys
sys.path.insert(0, {folder!r})
import pack
if {wants_sources}:
    from tidelog.native import prefer_sources
    prefer_sources({folder!r} + "/pack")
from pack.sub import hot
print(hot.SAYS)
"""


def load(folder: Path, *, wants_sources: bool) -> subprocess.CompletedProcess[str]:
    """Load a module that is compiled, though not for any machine, beside its source."""
    (folder / "pack" / "sub").mkdir(parents=True, exist_ok=True)
    for package in ("pack", "pack/sub"):
        (folder / package / "__init__.py").touch()
    (folder / "pack" / "sub" / "hot.py").write_text("SAYS = 'source'\n")
    (folder / "pack" / "sub" / f"hot{EXTENSION_SUFFIXES[0]}").write_bytes(b"compiled for no machine")
    text = _LOADING.format(folder=str(folder), wants_sources=wants_sources)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=WAIT, check=False)


def test_a_compiled_module_is_preferred_to_its_source(tmp_path: Path) -> None:
    """Python takes the compiled module, and does not fall back where that cannot be loaded."""
    assert "ImportError" in load(tmp_path, wants_sources=False).stderr


def test_sources_are_preferred_where_that_is_wanted(tmp_path: Path) -> None:
    """A package that was looked into already finds its sources from then on."""
    assert load(tmp_path, wants_sources=True).stdout == "source\n"


def test_infinite_ends_are_compared_as_machine_words() -> None:
    """Compiled code holds −2⁶² … 2⁶² − 1 in a word: the ends, which are points, and what is next to them, too."""
    assert all(-(1 << 62) <= number < 1 << 62 for number in (NEG - 1, NEG, POS, POS + 1, UNBOUNDED))
    assert POS % 2 == NEG % 2 == 0
    assert NEG + 3 * LIMIT < 0 < POS - 3 * LIMIT
