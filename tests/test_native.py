"""Which build runs, the compiled one or the sources."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from children import WAIT

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
