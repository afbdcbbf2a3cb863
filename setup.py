"""What a wheel is made of beyond `pyproject.toml`: the long description, and compiled modules where they are wanted.

With `TIDELOG_COMPILE=1` in the environment, a wheel is built for this version of Python and this kind of machine, in which
the modules that each fact passes through are compiled by mypyc, beside their sources. `MYPYC_OPT_LEVEL` is how hard the C
compiler tries: at 0 it is done soonest, and beyond 1 it takes much longer for little.
"""

import os
import re
import shutil
import sys
from glob import glob
from pathlib import Path

from setuptools import Extension, setup

REPOSITORY = "https://github.com/tidelog/tidelog"
COMPILED = os.environ.get("TIDELOG_COMPILE") == "1"
WORK = Path("build", "wheel")
"""Removed before a build: a module that is gone, or no longer compiled, would get into the wheel from an earlier one."""
# Not among them: the session, which is the front door; the controls of loops, between whose calls Python hears of signals;
# what is told of answers, whose options are looked at as they were given.
ROOMS = ("stores", "standing", "metric", "joins", "grouped", "windows", "loops", "ask", "ask/*")
COLD = ("__init__", "ask/telling/telling")
HOT = (
    "tidelog/operators/operator.py",
    *sorted(
        path
        for room in ROOMS
        for path in (Path(found).as_posix() for found in glob(f"tidelog/operators/{room}/*.py"))
        if not path.removesuffix(".py").endswith(COLD)
    ),
    "tidelog/operators/grouped/counting/window.py",  # what inherits from a compiled class is compiled
    *(f"tidelog/operators/sld/comparisons/{name}.py" for name in ("systems", "values")),
    *(f"tidelog/runtime/emission/{name}.py" for name in ("agenda", "emission", "growing", "points", "standing_runs")),
    *(f"tidelog/runtime/intake/{name}.py" for name in ("admitting", "intake", "source_state", "tracks", "watermarks")),
    *(
        f"tidelog/runtime/network/{name}.py"
        for name in (
            "choosing",
            "graph",
            "loop_unit",
            "network",
            "outlet",
            "prospects",
            "readers",
            "row_prospects",
            "state_bound",
            "units",
        )
    ),
)


def compiled_modules() -> list[Extension]:
    """The hot modules, compiled where a wheel is built and wants them; what only asks about it does not wait for that."""
    if not COMPILED or "bdist_wheel" not in sys.argv:
        return []
    try:
        from mypyc.build import mypycify  # a pure wheel is built without it
    except ImportError as error:
        raise SystemExit(
            "TIDELOG_COMPILE=1 needs mypy, which is not installed here: build without `--no-build-isolation`, or first "
            "install what `compile-requires` in pyproject.toml names, and tidelog's dependencies"
        ) from error

    options = ["--config-file=", f"--cache-dir={WORK / 'types'}", "--ignore-missing-imports", *HOT]
    level = os.environ.get("MYPYC_OPT_LEVEL", "1")
    extensions = mypycify(options, opt_level=level, debug_level="0", group_name="tidelog", target_dir=str(WORK / "c"))
    if sys.platform != "win32":
        for extension in extensions:
            # For this warning gcc reads so long a file again for many an `if`, which takes most of its time.
            # And what another version of a compiler warns of, is no error.
            extension.extra_compile_args += ["-Wno-misleading-indentation", "-Wno-error"]
    return extensions


def elsewhere(text: str) -> str:
    """The readme as it is read outside of the repository: links lead there, and pictures are taken from there."""
    text = re.sub(r"\]\((?!https?:|#)([^)]+)\)", rf"]({REPOSITORY}/blob/main/\1)", text)
    return re.sub(r'(src|srcset)="(?!https?:)([^"]+)"', rf'\1="{REPOSITORY}/raw/main/\2"', text)


if "bdist_wheel" in sys.argv:
    shutil.rmtree(WORK, ignore_errors=True)
readme = Path(__file__).with_name("README.md").read_text("utf-8")
setup(
    long_description=elsewhere(readme),
    long_description_content_type="text/markdown",
    options={"build": {"build_base": str(WORK)}},
    ext_modules=compiled_modules(),
)
