"""README.md and docs/: every program, command and Python block runs, and prints what the document shows."""

import re
from pathlib import Path

import pytest

from examples.documents import DOCUMENTS, ROOT, blocks_of, run_document

SLOWEST = (
    "docs/reference/asking.md",
    "docs/howto/alarm-philosophy.md",
    "docs/howto/alarms.md",
    "docs/howto/backtest.md",
    "docs/howto/corrections.md",
    "docs/howto/frames.md",
    "docs/howto/gateway.md",
    "docs/howto/influxdb.md",
    "docs/howto/kafka.md",
    "docs/howto/modbus.md",
    "docs/howto/nats.md",
    "docs/howto/notify.md",
    "docs/howto/opcua.md",
    "docs/howto/opcua-alarms.md",
    "docs/howto/opentelemetry.md",
    "docs/howto/restart.md",
    "docs/howto/spark.md",
    "docs/howto/sparkplug.md",
    "docs/howto/sql.md",
    "docs/howto/standby.md",
    "docs/howto/workers.md",
    "docs/howto/write-a-connector.md",
    "docs/howto/year.md",
    "docs/reference/aggregates.md",
    "docs/reference/batch.md",
    "docs/reference/data.md",
    "docs/reference/gateway.md",
    "docs/reference/language.md",
    "docs/reference/operations.md",
    "docs/reference/testing.md",
    "docs/reference/why.md",
    "docs/tutorial/",
    "docs/howto/recipes/",
)
"""Those that are left to `make test-all`; tests/playground runs the recipes in `make test`, too."""
TEXTS = (
    "/index.md",
    "docs/examples.md",
    "docs/glossary.md",
    "docs/background/",
    "docs/internals/",
    "docs/reference/commands.md",
    "docs/reference/api.md",
    "docs/reference/licences.md",
    "docs/reference/support.md",
)
"""Those that need no example of their own: what is told there is shown elsewhere, or generated."""
BESIDE = (
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "changes/README.md",
    "examples/weather/SOURCE.md",
)
"""Documents outside of docs/, which have links and nothing to run."""
_LINK = re.compile(r"\]\(([^)#\s]*)#?([^)\s]*)\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "document", [pytest.param(name, marks=[pytest.mark.long] * name.startswith(SLOWEST)) for name in DOCUMENTS]
)
def test_document_runs(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block of the document runs and prints exactly what stands behind it."""
    monkeypatch.chdir(tmp_path)
    found = run_document(document, tmp_path)
    assert [(place, came) for place, _, came in found] == [(place, shown) for place, shown, _ in found]


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if not name.startswith(TEXTS) and not name.endswith(TEXTS)])
def test_document_has_something_to_run(document: str) -> None:
    """No document is empty of examples that run."""
    assert any(block.language in ("python", "console") for block in blocks_of(document))


@pytest.mark.parametrize("document", [*DOCUMENTS, *BESIDE])
def test_links_lead_somewhere(document: str) -> None:
    """Every link to a file of the repository names one that is there, and a heading that it has."""
    links = _LINK.findall(_FENCED.sub("", (ROOT / document).read_text("utf-8")))
    missing = []
    for name, anchor in links:
        target = (ROOT / document).parent / name if name else ROOT / document
        if "://" in name or name.startswith("mailto:"):
            continue
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            missing.append(f"{name}#{anchor}")
    assert not missing


def _anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub and the site have them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
