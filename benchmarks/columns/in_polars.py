"""The cases in Polars: lazy frames of maximal intervals, `hi` null where one has no end.

Readings of a sensor are in order of time, except where a case sorts them.
"""

from __future__ import annotations

import os
from collections.abc import Callable

os.environ["POLARS_MAX_THREADS"] = "1"  # it is read when Polars is loaded

import polars as pl

_VALUE, _TIME = pl.col("v"), pl.col("time")


def query(name: str, path: str) -> Callable[[], pl.DataFrame]:
    """One of the cases from a file to a frame."""
    read = pl.scan_parquet if path.endswith(".parquet") else pl.scan_csv
    return lambda: _QUERIES[name](read(path)).collect()


def _runs(readings: pl.LazyFrame, reach: int) -> pl.LazyFrame:
    """The maximal runs of what holds so long behind each reading."""
    own = readings.sort("r", "time", maintain_order=True)
    is_fresh = (pl.col("r") != pl.col("r").shift()) | (_TIME.diff() > reach + 1)
    numbered = own.with_columns(run=is_fresh.fill_null(True).cum_sum())
    return numbered.group_by("run").agg(pl.col("r").first(), lo=_TIME.min(), hi=_TIME.max() + reach)


def _duration(temp: pl.LazyFrame) -> pl.LazyFrame:
    hot = _runs(temp.filter(_VALUE >= 80), 60)
    return hot.select("r", lo=pl.col("lo") + 300, hi="hi").filter(pl.col("lo") <= pl.col("hi"))


def _absence(temp: pl.LazyFrame) -> pl.LazyFrame:
    following = temp.with_columns(next=_TIME.shift(-1).over("r"))
    silent = following.filter(pl.col("next").is_null() | (pl.col("next") > _TIME + 121))
    return silent.select("r", lo=_TIME + 121, hi=_TIME + 121)


def _join(temp: pl.LazyFrame) -> pl.LazyFrame:
    high, low = _runs(temp.filter(_VALUE >= 90), 300), _runs(temp.filter(_VALUE < 70), 300)
    both = high.join(low, on="r", suffix="_low")
    meeting = both.filter((pl.col("lo") <= pl.col("hi_low")) & (pl.col("lo_low") <= pl.col("hi")))
    return meeting.select("r", lo=pl.max_horizontal("lo", "lo_low"), hi=pl.min_horizontal("hi", "hi_low"))


def _hysteresis(temp: pl.LazyFrame) -> pl.LazyFrame:
    cold = pl.when(_VALUE < 70).then(_TIME)
    following = temp.with_columns(hi=cold.shift(-1).backward_fill().over("r")).filter(_VALUE >= 90)
    return following.group_by("r", "hi").agg(lo=_TIME.min()).select("r", "lo", "hi")


def _hourly(temp: pl.LazyFrame) -> pl.LazyFrame:
    """A reading on the hour counts in two windows, whose both ends belong to them."""
    upward = temp.select("r", "v", lo=_TIME + (3600 - _TIME % 3600) % 3600)
    twice = temp.filter(_TIME % 3600 == 0).select("r", "v", lo=_TIME + 3600)
    means = pl.concat([upward, twice]).group_by("r", "lo").agg(a=_VALUE.mean())
    return means.select("r", "a", "lo", hi=pl.col("lo") + 3599)


_QUERIES: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "duration": _duration,
    "disorder": _duration,
    "absence": _absence,
    "join": _join,
    "hysteresis": _hysteresis,
    "hourly mean": _hourly,
}
