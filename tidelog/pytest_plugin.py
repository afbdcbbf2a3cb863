"""The plug-in of pytest: files `*.tide.toml` are tests of rules, as for `tidelog test`.

pytest loads this module whenever it starts, in any project: so it loads nothing itself until there is such a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

SUFFIX = ".tide.toml"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The tests of a file, if it holds tests of rules."""
    if not file_path.name.endswith(SUFFIX):
        return None
    from tidelog.testing.collecting import RuleFile  # noqa: PLC0415 - other projects must not pay for what they do not use

    collected: pytest.Collector = RuleFile.from_parent(parent, path=file_path)
    return collected
