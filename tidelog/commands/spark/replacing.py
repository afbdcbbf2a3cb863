"""`spark run` with another program than the checkpoint's: what becomes of its state, and whether it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.commands.outcome import say
from tidelog.commands.spark.streaming import Streaming, handed_over
from tidelog.commands.streams.durable import CHECK, show_changes
from tidelog.connectors.lake.places import uri_of
from tidelog.connectors.spark.running.changing.checkpoints import Checkpoint
from tidelog.connectors.spark.running.changing.handover import Handover, Pair, Place, fates
from tidelog.connectors.spark.running.job import Job
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.journal.manifest import what_changed
from tidelog.runtime.migration.changing import Becoming
from tidelog.runtime.migration.staged import Spread, change_stage, pair_stages, reach_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def change_program(
    spark: SparkSession, checkpoint: Checkpoint, stream: Streaming, before: Job, now: Job, reload: str | None
) -> int | None:
    """Let a checkpoint go on with the program now; None once it does, or the exit code where it was only asked (`check`).

    SpecError where state would be lost that must not be, or where the programs count time in different ways.
    """
    _check_times(before, now)
    files = stream.files
    batch = files.last("commits")
    if batch is None:  # nothing is remembered yet
        if reload == CHECK:
            return show_changes([])
        checkpoint.begin(0, anew=False)
        return None
    pairs = pair_stages(before.stages, now.stages)
    place = Place(files.uri, batch, files.watermark(batch), stream.latest(before))
    handover = Handover(spark, before, now, place, [Pair(pair.now, pair.before or 0, pair.other) for pair in pairs])
    parcels = handover.parcels(change_stage, reach_of)
    spread = Spread(before.stages, now.stages, pairs)
    if reload == CHECK:
        return show_changes(spread.becomings(fates(parcels)))
    number = checkpoint.claim.program + 1
    target = handed_over(uri_of(f"{checkpoint.place}/{checkpoint.within(number)}"))
    parcels.write.mode("overwrite").parquet(target)
    found = spread.becomings(fates(spark.read.parquet(target)))
    dropped = [item for item in found if item.drops]
    if dropped and reload != "drop":
        stream.forget(number)
        raise SpecError(_refusal(checkpoint, before, now, dropped))
    changed = [item for item in found if item.fate != "kept"]
    for item in changed:
        say(str(item))
    if not changed:
        say("the program is written in another way: all is kept")
    checkpoint.begin(batch + 1, anew=True)
    return None


def _refusal(checkpoint: Checkpoint, before: Job, now: Job, dropped: list[Becoming]) -> str:
    changed = what_changed(before.program, now.program)
    told = "; ".join(map(str, dropped))
    return (
        f"checkpoint `{checkpoint.place}` was stored by another program{changed}, and would lose state: {told}: "
        "`--reload drop` lets it go"
    )


def _check_times(before: Job, now: Job) -> None:
    """SpecError where the states count time otherwise than the program now."""
    was, is_now = before.plan, now.plan
    if was.timeline != is_now.timeline:
        told = f"{_described(was.timeline)}, now {_described(is_now.timeline)}"
        raise SpecError(f"the program counts time in another way: it was {told}: choose another `--checkpoint`")


def _described(timeline: Timeline) -> str:
    unit = "" if timeline.unit is None else f", unit {timeline.unit} s"
    return f"{timeline.kind} in steps of {timeline.resolution}{unit}"
