"""When a pump ran dry, with pandas: what pump.tide beside it says."""

import pandas as pd


def dry(readings: pd.DataFrame) -> pd.DataFrame:
    """The stretches in which each pump ran dry: its name, the first and the last second."""
    readings = readings.sort_values("time")
    idle = readings[(readings["kilowatt"] > 1) & (readings["litres"] < 2)]
    is_new = idle.groupby("pump")["time"].diff() > pd.Timedelta("70s")
    stretch = is_new.groupby(idle["pump"]).cumsum().rename("stretch")
    times = idle.groupby(["pump", stretch])["time"].agg(["min", "max"])
    found = pd.DataFrame({"from": times["min"] + pd.Timedelta("3min"), "to": times["max"] + pd.Timedelta("69s")})
    return found[found["from"] <= found["to"]].reset_index("pump")
