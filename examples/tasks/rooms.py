"""The mean of each hour and the least of each day, with pandas: what rooms.tide beside it says."""

import pandas as pd


def mean_and_least(readings: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Both by room and by the begin of the hour or the day."""
    local = readings.set_index(readings["time"].dt.tz_convert("Europe/Berlin")).groupby("room")["celsius"]
    return local.resample("h").mean().dropna(), local.resample("D").min().dropna()
