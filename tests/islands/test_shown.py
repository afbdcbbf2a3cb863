"""Islands as `tidelog explain --actors` shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidelog.cli import main

PROGRAM = """\
timeline integer. input temp(sensor, celsius). input door(room). in(s1, attic).
output mean, all, 'a|b'.
mean(S, A) :- A = avg(C) over temp(S, C) in [9] by S.
all(N) :- N = count() over mean(_, _) in [9].
'a|b'(R) :- boxminus[0,2] door(R).
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    found = tmp_path / "a.tide"
    found.write_text(PROGRAM, encoding="utf-8")
    return str(found)


def shown(path: str, capfd: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["explain", path, "--actors", *options]) == 0
    return capfd.readouterr().out


def test_as_text(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What each reads, takes, tells and passes, with the key in its place."""
    lines = shown(path, capfd).splitlines()[1:]
    assert "  reads:   temp(K, _)" in lines
    assert "  passes:  mean(K, _) to 2" in lines or "  passes:  mean(K, _) to 1" in lines
    assert "  takes:   mean(_, _) from 0" in lines
    assert any(line.endswith("not spread, because of all(N) :- N = count() over mean(_, _) in [9].") for line in lines)


def test_as_fields(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Places count from 1."""
    islands = {item["name"]: item for item in json.loads(shown(path, capfd, "--format", "json"))["islands"]}
    mean, everything, door = islands["mean"], islands["all"], islands["a|b"]
    assert (mean["key"], mean["outputs"], door["key"], everything["key"]) == ({"temp": 1}, ["mean"], {"door": 1}, None)
    assert mean["passes"] == [{"step": "mean", "island": everything["number"], "key": 1}]
    assert everything["takes"] == [{"step": "mean", "island": mean["number"], "key": None}]


def test_as_pictures(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Names are escaped, and what passes stands at the arrow."""
    chart = shown(path, capfd, "--format", "mermaid")
    assert chart.startswith("flowchart LR\n") and '|"mean(_, _)"|' in chart and "a#124;b" in chart
    picture = shown(path, capfd, "--format", "svg")
    assert picture.startswith("<svg") and "spread by K" in picture


@pytest.mark.parametrize("options", [["--stage", "normal"], ["--format", "svg", "--all"]])
def test_what_does_not_go_together(path: str, options: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", path, "--actors", *options]) == 2
    assert "--actors" in capfd.readouterr().err
