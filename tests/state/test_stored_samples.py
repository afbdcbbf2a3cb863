"""What earlier versions have stored goes on: the samples of `tests/fixtures/stored/`, in this version and in later ones."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from state.samples import ROOT, Sample, go_on, read_sample, samples, told
from state.versions import another, later
from tidelog import Session, SpecError, StateDirectory, version
from tidelog.cli import main
from tidelog.connectors.outbox.file import OutboxFile
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import Plan, Shape
from tidelog.plans.plan.stored import pack_plan

pytestmark = [pytest.mark.slow, pytest.mark.pure]
STORED = sorted(ROOT.glob("*/*.zip"))
WAYS = {
    "as this": (),
    "other names": ("other names",),
    "other shapes": ("other shapes", "no passing"),
    "other alarms": ("other alarms",),
}
LONG = ("other names", "other shapes")
"""Those that are left to `make test-all`: all of them take tens of seconds."""
EACH_WAY = [pytest.param(way, marks=[pytest.mark.long] * (way in LONG)) for way in WAYS]


@pytest.fixture(params=STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A sample, unpacked."""
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def expected(folder: Path, what: str) -> list[Any]:
    """What a run tells that was never stopped."""
    found: list[Any] = json.loads((folder / "expected.json").read_text())[what]
    return found


def held(folder: Path) -> list[list[Any]]:
    """What an outbox holds, as records on an integer timeline are."""
    with OutboxReader(str(folder / "outbox")) as reader:
        rows = reader.read(0)
    assert not any(row.start_open or row.end_open for row in rows if row.end is not None)
    return [
        [row.predicate, json.loads(row.arguments), int(row.start or NEG), POS if row.end is None else int(row.end)]
        for row in rows
    ]


def whole(records: Sequence[Any], emit: str) -> Counter[str]:
    """What was told; intervals may be cut in other places, but tell no time twice."""
    if emit != "intervals":
        return Counter(map(json.dumps, records))
    merged: list[list[Any]] = []
    for name, row, lo, hi in sorted(records, key=lambda record: (record[0], str(record[1]), record[2])):
        if merged and merged[-1][:2] == [name, row] and lo <= merged[-1][3] + 1:
            assert lo == merged[-1][3] + 1, f"{name}{row} is told twice"
            merged[-1][3] = hi
        else:
            merged.append([name, row, lo, hi])
    return Counter(map(json.dumps, merged))


def plan_of(sample: Sample, way: str) -> Plan:
    with another(*WAYS[way]):
        return sample.plan()


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_state_goes_on(folder: Path, way: str) -> None:
    """Each run that was killed fills its outbox, in this version and in later ones, with what one tells that was never
    stopped, and with each answer once."""
    sample = read_sample(folder)
    plan = plan_of(sample, way)
    with another():
        before = held(folder)
        go_on(folder, sample, plan, sample.facts, StateDirectory)
        found = held(folder)
    assert whole(found, sample.emit) == whole(expected(folder, "told"), sample.emit)
    assert found[: len(before)] == before != found


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_snapshot_goes_on(folder: Path, way: str) -> None:
    """A session from each snapshot tells what one tells that was never stopped."""
    sample = read_sample(folder)
    plan = plan_of(sample, way)
    with another():
        session = Session(plan, emit=sample.emit, held=sample.desk)  # type: ignore[call-overload]
        session.restore(json.loads((folder / "snapshot.json").read_text()))
        session.push_records(sample.facts[sample.killed :])
        session.finish()
        assert whole(told(session.pull_records()), sample.emit) == whole(expected(folder, "session"), sample.emit)
        assert [str(found) for found in session.pull_violations()] == expected(folder, "violations")


def test_what_is_stored_can_be_looked_at(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`tidelog state` tells of it, from its own plan."""
    assert main(["state", str(folder / "state")]) == 0
    shown = capfd.readouterr().out
    assert "snapshot: as of event" in shown
    assert "damaged" not in shown


def test_an_outbox_can_be_read_and_acknowledged(folder: Path) -> None:
    """Whoever reads it goes on where he was."""
    with OutboxReader(str(folder / "outbox")) as reader:
        last = reader.last()
        assert [row.seq for row in reader.read(0)] == list(range(1, last + 1))
        reader.acknowledge(last)
        assert reader.read(last) == []


def test_this_version_has_samples_of_every_operator() -> None:
    """Each minor version leaves samples, written when it is released, over programs with all operators."""
    major, minor, *_ = version.VERSION.split(".")
    mine = {path.stem for path in ROOT.glob(f"{major}.{minor}.*/*.zip")}
    assert mine == {sample.name for sample in samples()}, "write them: python -m state.samples, in tests/"
    shapes = {type(step.shape) for sample in samples() for step in sample.plan().steps}
    missing = sorted(shape.__name__ for shape in set(get_args(Shape)) - shapes)
    assert not missing, f"add a rule for each to {ROOT / 'operators.tide'}, then write the samples"


def test_a_table_of_an_older_form_becomes_one_of_this(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version changes the tables of an outbox once, when it first writes them; readers are told to wait for it."""
    plan = samples()[0].plan()
    with Outbox(str(tmp_path), plan) as box:
        box.append([("o06", ("a", "b"), 1, 1)], 1)
        box.commit(b"there")
    form = OutboxFile.form
    add = "CREATE TABLE more (seq INTEGER PRIMARY KEY)"
    monkeypatch.setattr(OutboxFile, "form", replace(form, version=form.version + 1, tables={form.version: [add]}))
    monkeypatch.setattr(OutboxFile, "tables", (*OutboxFile.tables, add))
    with pytest.raises(SpecError, match="was written by an older version of tidelog: start what fills it with this version"):
        OutboxReader(str(tmp_path))
    with another():
        for _ in range(2):
            with Outbox(str(tmp_path), plan) as box:
                assert box.checkpoint() == b"there"
                with OutboxReader(str(tmp_path)) as reader:
                    assert reader.last() == 1
    monkeypatch.undo()
    newer = rf"was stored by tidelog {later()} in format {form.version + 1}, and this is tidelog {version.VERSION}"
    with pytest.raises(SpecError, match=newer):
        Outbox(str(tmp_path), plan)


def test_a_plan_is_small() -> None:
    """What is stored beside a state is of the size of its program."""
    for sample in samples():
        assert len(pack_plan(sample.plan())) < 20_000
