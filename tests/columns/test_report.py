"""The page of benchmarks: what is measured stands in it, with the machine, and its picture can be read."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.figures import Figure
from benchmarks.report import PARTS, page, picture


def test_the_page_has_each_figure_with_its_command_and_its_target() -> None:
    """Ratios and times, and of a target also that it was missed."""
    figures = [
        Figure("streams", "tidelog, in batches, a reading", 0.7312, "µs"),
        Figure("streams", "bytewax / tidelog, in batches", 1.34),
        Figure("streams", "slow", 1234.5, "µs", target=1000.0),
    ]
    told = page({PARTS[0]: figures})
    assert "| tidelog, in batches, a reading | 0.731 µs |  |" in told
    assert "| bytewax / tidelog, in batches | 1.34 × |  |" in told
    assert "| slow | 1,234 µs | ≤ 1000, missed |" in told
    assert "`python -m benchmarks.streams`" in told and "| machine |" in told


def test_the_picture_has_a_bar_for_each_tool() -> None:
    """Also for one that costs next to nothing, and for a name that is no XML."""
    figures = [Figure("streams", f"{name}, a reading", cost, "µs") for name, cost in (("tidelog", 1.0), ("<x>", 0.0001))]
    drawn = ElementTree.fromstring(picture([*figures, Figure("streams", "a / b", 2.0)]))  # noqa: S314 - our own
    bars = drawn.findall("{http://www.w3.org/2000/svg}rect")
    assert [bar.get("class") for bar in bars] == ["own", "other"]
    assert all(float(bar.get("width") or 0) > 0 for bar in bars)
