"""What a gateway says: of a file that is wrong or most likely not meant, and in its log."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tidelog.cli import main
from tidelog.gateway.file.hiding import hide_secrets
from tidelog.gateway.file.reading import read_text
from tidelog.gateway.file.settings import LogSettings
from tidelog.gateway.kinds.table import names
from tidelog.gateway.logs import set_up
from tidelog.plans.diagnostics.errors import ProgramError

BROKER = '[[source]]\nname = "floor"\ntype = "mqtt"\nurl = "mqtt://h"\n'


def told(text: str) -> list[tuple[str, str]]:
    """What is wrong with a file, and the help for it."""
    with pytest.raises(ProgramError) as caught:
        read_text(f'program = "a"\n{text}\n', "plant.toml", {})
    return [(item.message, item.help) for item in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ('[[sink]]\nname = "s"\ntype = 5', "`type`: expected text, got a number", f"known are {', '.join(names('sink'))}"),
        (f'{BROKER}qos = "1"', "`qos`: expected a number, got text", "known are 0, 1"),
        (f"{BROKER}qos = 1.5", "`qos`: expected a whole number, got one with a fraction", "known are 0, 1"),
        (f"{BROKER}version = 5", "`version`: expected text, got a number", "known are 3.1.1, 5"),
        ('[[source]]\nname = "s"\ntype = "mqtt"', "missing key `url` of `source` `s`", ""),
        (
            '[[source]]\nname = "s"',
            "missing key `type` of `source` `s`",
            f"known are {', '.join(names('source'))}",
        ),
        ('[[source]]\ntype = "mqtt"\nurl = "mqtt://h"', "missing key `name` of `source`", ""),
        (f'{BROKER}[[source.map]]\ntopic = "x"', "missing key `predicate` of `source.map`", ""),
    ],
)
def test_a_value_of_a_wrong_type_and_a_missing_key_lead_to_what_is_right(text: str, message: str, help: str) -> None:
    """The values that are allowed, and the table that lacks something, by its name."""
    assert told(text) == [(message, help)]


@pytest.mark.parametrize("key", ["passphrase", "passwd", "api_key", "apikey", "x-API-Key", "private_key", "passwrd"])
def test_keys_that_hold_secrets_are_hidden(key: str) -> None:
    """However they are called at other systems, and nearly."""
    assert hide_secrets(f'{key} = "hunter2"') == f"{key} = *********"


@pytest.mark.parametrize("key", ["key", "ca", "url", "topic", "keep_alive", "map", "type"])
def test_keys_that_hold_none_are_shown(key: str) -> None:
    """Among them the path of a private key."""
    assert hide_secrets(f'{key} = "value"') == f'{key} = "value"'


def test_a_header_that_is_no_text_says_where_a_secret_is_to_be() -> None:
    """A header that is called like a secret is one."""
    sink = '[[sink]]\nname = "s"\ntype = "webhook"\nurl = "http://h"\n'
    ((message, help),) = told(f"{sink}headers = {{ Authorization = 5 }}")
    assert message == "`Authorization`: expected text or a table, got a number"
    assert 'say `{ env = "NAME" }`' in help


def checked(folder: Path, text: str, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """What `--check` warns of in a file that is right."""
    (folder / "plant.tide").write_text("timeline integer, unit 1 s.\ninput temp(room, celsius).\nhot(R) :- temp(R, _).\n")
    (folder / "plant.toml").write_text(f'program = "plant.tide"\n{text}')
    assert main(["gateway", str(folder / "plant.toml"), "--check"]) == 0
    return [line.partition("warning: ")[2] for line in capfd.readouterr().err.splitlines() if "warning: " in line]


SCREEN = '[[sink]]\nname = "screen"\ntype = "spec"\nspec = "-"\n'


def test_a_level_that_nothing_reads_is_doubted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A name in a topic that no field has is misspelt, or is to be `+`."""
    maps = '[[source.map]]\ntopic = "{site}/{room}/{kind}/+"\npredicate = "temp"\nfields.celsius = { topic = "kind" }\n'
    assert checked(tmp_path, BROKER + maps + SCREEN, capfd) == [
        "source `floor`: the level `{site}` of `{site}/{room}/{kind}/+` is read by no field of `temp`; "
        "if none is to read it, write `+`"
    ]
    right = maps.replace("{site}", "+")
    assert checked(tmp_path, BROKER + right + SCREEN, capfd) == []


def test_a_file_without_sinks_is_doubted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Alarms that go nowhere are most likely not meant."""
    maps = '[[source.map]]\ntopic = "{room}"\npredicate = "temp"\n'
    assert checked(tmp_path, BROKER + maps, capfd) == ["program `plant` has no `[[sink]]`: what it tells is seen by nobody"]
    assert checked(tmp_path, f"{BROKER}{maps}[http]\n", capfd) == [
        "program `plant` has no `[[sink]]`: what it tells is seen on the page alone"
    ]
    outbox = '[[sink]]\nname = "box"\ntype = "spec"\nspec = "spark+outbox:box"\n'
    assert checked(tmp_path, f'emit = "intervals"\nstate = "state"\n{BROKER}{maps}{outbox}', capfd) == []


@pytest.mark.parametrize(
    ("alarm", "way"),
    [
        ("", 'say `emit = "intervals"` of the program where tables are to be made of it'),
        (
            "alarm hot(room: text).\n",
            "a program with alarms tells no others: let another one in `[[programs]]`, without alarms, fill it",
        ),
    ],
)
def test_an_outbox_that_is_filled_with_changes_is_doubted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], alarm: str, way: str
) -> None:
    """It was told by `tidelog ingest` alone, long after. `--check` names the outbox, and `--connect` lets it pass."""
    rules = "timeline integer, unit 1 s.\ninput temp(room: text, celsius: number).\nhot(R) :- temp(R, _).\n"
    (tmp_path / "plant.tide").write_text(rules + alarm)
    outbox = 'state = "state"\n[[sink]]\nname = "box"\ntype = "spec"\nspec = "spark+outbox:ob?node=gwA"\n'
    (tmp_path / "plant.toml").write_text(f'program = "plant.tide"\n{outbox}')
    assert main(["gateway", str(tmp_path / "plant.toml"), "--check", "--connect"]) == 0
    shown = capfd.readouterr()
    assert f"  sink box: outbox {tmp_path / 'ob'}\n" in shown.out and "  box: nothing to reach\n" in shown.out
    told = "sink `box`: the program `plant` fills the outbox with changes (`emit`), "
    assert f"warning: {told}which `tidelog ingest` and `spark run --in outbox:` refuse: {way}\n" in shown.err
    if not alarm:
        (tmp_path / "plant.toml").write_text(f'program = "plant.tide"\nemit = "intervals"\n{outbox}')
        assert main(["gateway", str(tmp_path / "plant.toml"), "--check"]) == 0
        assert "warning" not in capfd.readouterr().err


def test_an_output_whose_input_no_source_brings_is_doubted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It would look healthy, and never tell anything; where any fact may come, nothing is said."""
    rules = "timeline integer, unit 1 s.\ninput temp(room, celsius).\ninput flow(room, litres).\n"
    (tmp_path / "dry.tide").write_text(
        f"{rules}hot(R) :- temp(R, _).\ndry(R) :- flow(R, L), L < 1.\nboth(R) :- hot(R), dry(R).\n"
    )
    programs = 'program = "dry.tide"\n'
    maps = '[[source.map]]\ntopic = "{room}"\npredicate = "temp"\n'
    said = "program `dry`: no source brings `flow`, so `dry`, `both` can never hold"
    plain = f"{BROKER}{maps}{SCREEN}"
    assert _checked_alone(tmp_path, f"{programs}{plain}", capfd) == [said]
    assert _checked_alone(tmp_path, f"{programs}{plain}[http]\n", capfd) == [f"{said} unless it is posted"]
    other = '[[source]]\nname = "all"\ntype = "mqtt"\nurl = "mqtt://h"\nformat = "facts"\ntopics = ["facts"]\n'
    assert _checked_alone(tmp_path, f"{programs}{plain}{other}", capfd) == []


def _checked_alone(folder: Path, text: str, capfd: pytest.CaptureFixture[str]) -> list[str]:
    (folder / "dry.toml").write_text(text)
    assert main(["gateway", str(folder / "dry.toml"), "--check"]) == 0
    return [line.partition("warning: ")[2] for line in capfd.readouterr().err.splitlines() if "warning: " in line]


def test_a_secret_in_clear_in_a_header_is_doubted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A header may be text; one that is called like a secret should not be."""
    hook = '[[sink]]\nname = "hook"\ntype = "webhook"\nurl = "http://h"\nheaders = { X-Api-Key = "hunter2", X-A = "7" }\n'
    maps = '[[source.map]]\ntopic = "{room}"\npredicate = "temp"\n'
    found = checked(tmp_path, BROKER + maps + hook, capfd)
    assert found == ['sink `hook`: the header `X-Api-Key` stands in the file: say `{ env = "NAME" }`']


@pytest.mark.parametrize("option", ["--in", "--out"])
@pytest.mark.parametrize("scheme", ["mqtt", "mqtts"])
def test_a_run_says_where_mqtt_is_read(tmp_path: Path, capfd: pytest.CaptureFixture[str], option: str, scheme: str) -> None:
    """A broker is named in a gateway's file."""
    (tmp_path / "p.tide").write_text("q(X) :- p(X).")
    assert main(["run", str(tmp_path / "p.tide"), option, f"{scheme}://broker:1883"]) == 2
    said = capfd.readouterr().err
    assert f"`{scheme}://broker:1883`: MQTT is read and written by `tidelog gateway FILE`" in said
    assert 'type = "mqtt"' in said


def test_a_state_that_is_a_file_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whoever gives a file to `--state` learns that a folder is wanted, when it is written and when it is read."""
    (tmp_path / "p.tide").write_text("q(X) :- p(X).")
    (tmp_path / "facts.txt").write_text("p(1)@1\n")
    file = tmp_path / "state.db"
    file.write_text("mine")
    assert main(["run", str(tmp_path / "p.tide"), "--in", str(tmp_path / "facts.txt"), "--state", str(file)]) != 0
    assert f"cannot write the state `{file}`: that is a file, and a folder is wanted" in capfd.readouterr().err
    assert main(["state", str(file)]) != 0
    assert f"cannot read the state `{file}`: that is a file, and a folder is wanted" in capfd.readouterr().err


# --- the log ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    """Handlers, levels and what becomes of warnings are those of before when the test has run."""
    root, own = logging.getLogger(), logging.getLogger("tidelog")
    handlers, level = list(root.handlers), own.level
    yield
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    own.setLevel(level)


@pytest.mark.usefixtures("logging_as_before")
@pytest.mark.parametrize("form", ["json", "text"])
def test_lines_of_libraries_are_in_the_form_of_the_log(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A server's error, an event loop's, a warning of Python: one line each, with the name of who says so."""
    settings = LogSettings(format="json" if form == "json" else "text")
    set_up(settings)
    set_up(settings)  # as a reload does: nothing is said twice
    logging.getLogger("hypercorn.error").error("it broke: %s", 5)
    logging.getLogger("httpx").info("HTTP Request: of no interest")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old\nthing", stacklevel=1)
    logging.getLogger("tidelog").info("running")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    if form == "text":
        assert lines[0].endswith("error: hypercorn.error: it broke: 5")
        assert "warning: py.warnings: " in lines[1]
        assert lines[2].endswith("info: running")
        return
    found = [msgspec.json.decode(line) for line in lines]
    assert [line["level"] for line in found] == ["error", "warning", "info"]
    assert [line["message"].partition(":")[0] for line in found] == ["hypercorn.error", "py.warnings", "running"]
