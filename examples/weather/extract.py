"""Makes sf.csv and sea.csv from an installed `vega_datasets` 0.9.0; the demo itself does not need it.

    pip install --no-deps vega_datasets==0.9.0
    python examples/weather/extract.py

Each file gets the columns `time,city,fahrenheit`, its times in ISO-8601, its rows in the source's order; the
temperatures are copied as they are written. SOURCE.md says where the data come from.
"""

import csv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

CITIES = {"sf": "sf-temps.csv", "sea": "seattle-temps.csv"}


def data_folder() -> Path:
    """The folder of the files that the package brings along, found without importing it (it would need pandas)."""
    spec = find_spec("vega_datasets")
    if spec is None or spec.origin is None:
        raise SystemExit("vega_datasets is not installed: pip install --no-deps vega_datasets==0.9.0")
    return Path(spec.origin).parent / "_data"


def readings(path: Path) -> Iterator[tuple[str, str]]:
    """Time and temperature of each row: `2010/01/01 00:00`, with or without seconds, becomes `2010-01-01T00:00`."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            yield row["date"][:16].replace("/", "-").replace(" ", "T"), row["temp"]


def main() -> None:
    """Write both extracts beside this script."""
    for city, name in CITIES.items():
        with (Path(__file__).parent / f"{city}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["time", "city", "fahrenheit"])
            writer.writerows((time, city, degrees) for time, degrees in readings(data_folder() / name))


if __name__ == "__main__":
    main()
