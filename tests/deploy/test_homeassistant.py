"""The app for Home Assistant: its files are what the documentation of apps asks for, and it starts a gateway."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest
import yaml
from PIL import Image

from children import tidelog
from deploy.apart import ROOT
from tidelog.version import VERSION

APP = ROOT / "deploy" / "homeassistant"
CONFIG: dict[str, Any] = yaml.safe_load((APP / "config.yaml").read_text("utf-8"))

FORMS: dict[str, str | type | list[Any]] = {
    "name": str,
    "version": r"\d+\.\d+\.\d+",
    "slug": r"[-_.A-Za-z0-9]+",
    "description": str,
    "url": r"https?://\S+",
    "startup": ["initialize", "system", "services", "application", "once"],
    "boot": ["auto", "manual", "manual_only"],
    "webui": r"(https?|\[PROTO:\w+\])://\[HOST\]:\[PORT:\d+\].*",
    "backup": ["hot", "cold"],
    "timeout": list(range(10, 301)),
    "arch": list,
    "services": list,
    "map": list,
    "ports": dict,
    "options": dict,
    "schema": dict,
}
"""What the documentation of apps (developers.home-assistant.io, "App configuration") says of the keys that are used here: a
pattern, the values that there are, or a type."""
FOLDERS = {"homeassistant_config", "addon_config", "ssl", "addons", "backup", "share", "media", "all_addon_configs", "data"}
OPTION = re.compile(r"(str|bool|email|url|password|port|int|float|device)(\([^)]*\))?\??|match\(.+\)\??|list\([^)]+\)\??")


def fits(value: object, form: str | type | list[Any]) -> bool:
    """Whether a value has its form."""
    if isinstance(form, str):
        return isinstance(value, str) and re.fullmatch(form, value) is not None
    return value in form if isinstance(form, list) else isinstance(value, form)


def test_the_configuration_is_one_that_home_assistant_takes() -> None:
    """Each key is known and has its form, those that are asked for are there; options and ports fit together."""
    assert {"name", "version", "slug", "description", "arch"} <= CONFIG.keys()
    assert [key for key, value in CONFIG.items() if not fits(value, FORMS[key])] == []
    assert CONFIG["version"] == VERSION, "a release also sets the version of deploy/homeassistant/config.yaml"
    assert CONFIG["arch"] and set(CONFIG["arch"]) <= {"aarch64", "amd64"}  # the others are not taken any more
    assert all(re.fullmatch(r"(mqtt|mysql):(provide|want|need)", one) for one in CONFIG["services"])
    assert all(one.keys() <= {"type", "read_only", "path"} and one["type"] in FOLDERS for one in CONFIG["map"])
    assert all(re.fullmatch(r"\d+/(tcp|udp)", port) and isinstance(at, int) for port, at in CONFIG["ports"].items())
    assert all(OPTION.fullmatch(kind) for kind in CONFIG["schema"].values())
    # an option that has a value is there always, and one that may be missing has none
    assert {name for name, kind in CONFIG["schema"].items() if not kind.endswith("?")} == CONFIG["options"].keys()
    assert re.search(r"\[PORT:(\d+)\]", CONFIG["webui"])[1] + "/tcp" in CONFIG["ports"]  # type: ignore[index]


@pytest.mark.parametrize("language", ["en", "de"])
def test_everything_is_translated(language: str) -> None:
    """Each option has a name and a description, each port a description."""
    told = yaml.safe_load((APP / "translations" / f"{language}.yaml").read_text("utf-8"))
    assert told.keys() == {"configuration", "network"}
    assert told["configuration"].keys() == CONFIG["schema"].keys()
    assert all(one.keys() == {"name", "description"} for one in told["configuration"].values())
    assert told["network"].keys() == CONFIG["ports"].keys()


def test_the_repository_is_one_of_apps() -> None:
    """Home Assistant looks for any `config.yaml`: there is one, and `repository.yaml` at the root, and a square icon."""
    found = []
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if not name.startswith(".") and name not in ("build", "dist", "node_modules")]
        found += [Path(folder, name) for name in names if re.fullmatch(r"config\.(ya?ml|json)", name)]
    assert found == [APP / "config.yaml"]
    repository = yaml.safe_load((ROOT / "repository.yaml").read_text("utf-8"))
    assert repository.keys() <= {"name", "url", "maintainer"} and repository["name"]
    with Image.open(APP / "icon.png") as icon:
        assert icon.format == "PNG" and icon.size == (128, 128)
    for name in ("DOCS.md", "README.md", "Dockerfile"):
        assert (APP / name).is_file()


def test_the_image_is_that_of_the_version() -> None:
    """It is built on the project's own image, and says the labels that Home Assistant asks for."""
    text = (APP / "Dockerfile").read_text("utf-8")
    assert "\nFROM ghcr.io/tidelog/tidelog:${BUILD_VERSION}\n" in text
    assert set(re.findall(r"io\.hass\.\w+", text)) == {"io.hass.type", "io.hass.version", "io.hass.arch"}


# --- start.py -----------------------------------------------------------------------------------------------------------


class Became(Exception):
    """What the process would have become."""


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module `start.py`, which tells what it would become, and with which environment, in place of doing so."""
    spec = importlib.util.spec_from_file_location("start", APP / "start.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def become(file: str, words: list[str], environment: dict[str, str]) -> None:
        raise Became(words, environment)

    monkeypatch.setattr(os, "getuid", lambda: 1000)  # so that nothing changes hands
    monkeypatch.setattr(os, "execvpe", become)
    monkeypatch.setenv("SUPERVISOR_TOKEN", "of-the-app")
    return module


class Supervisor(BaseHTTPRequestHandler):
    """Names the broker of Home Assistant to who tells the token of the app."""

    def do_GET(self) -> None:
        if (self.path, self.headers["authorization"]) != ("/services/mqtt", "Bearer of-the-app"):
            self.send_error(401)
            return
        data = {
            "host": "core-mosquitto",
            "port": 1883,
            "ssl": False,
            "username": "addons",
            "password": "p",
            "protocol": "3.1.1",
        }
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"result": "ok", "data": data}).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def supervisor() -> Iterator[str]:
    """The address of a Supervisor, for the length of a `with` block."""
    with HTTPServer(("127.0.0.1", 0), Supervisor) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def device(folder: Path, **options: str) -> Path:
    """The root of a container as Home Assistant makes it."""
    for name in ("data", "config", "ssl"):
        (folder / name).mkdir(parents=True)
    (folder / "data/options.json").write_text(json.dumps(CONFIG["options"] | options))
    return folder


def test_the_first_start(tmp_path: Path, start: ModuleType) -> None:
    """A sample that is right is written, and the gateway gets its broker; the health check then asks the same gateway."""
    root = device(tmp_path / "root")
    with supervisor() as address:
        with pytest.raises(Became) as became:
            start.main([], root, address)
        words, environment = became.value.args
    assert words == ["tidelog", "gateway", f"{root}/config/plant.toml"]
    told = {name: environment[name] for name in ("MQTT_URL", "MQTT_USER", "MQTT_PASSWORD", "STATE")}
    assert told == {
        "MQTT_URL": "mqtt://core-mosquitto:1883",
        "MQTT_USER": "addons",
        "MQTT_PASSWORD": "p",
        "STATE": f"{root}/data/state",
    }
    assert (root / "data/state").stat().st_mode & 0o777 == 0o700
    assert (root / "run/tidelog.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(Became) as asked:
        start.main(["--healthy"], root, "http://127.0.0.1:1")
    assert asked.value.args == ([*words, "--healthy"], environment)
    with pytest.MonkeyPatch.context() as patch:
        for name, text in told.items():
            patch.setenv(name, text)
        assert tidelog("gateway", words[-1], "--check").returncode == 0
    assert tidelog("test", str(root / "config")).stdout == "2 tests passed\n"


def test_what_is_there_is_left_alone(tmp_path: Path, start: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of the user's own is taken; without a broker the log says so; certificates are copied for the gateway alone."""
    root = device(tmp_path / "root", file="mine.toml", token="a" * 16, certificate="fullchain.pem", key="privkey.pem")
    (root / "config/mine.toml").write_text("mine")
    for name in ("fullchain.pem", "privkey.pem"):
        (root / "ssl" / name).write_text(name)
    with pytest.raises(Became) as became:
        start.main([], root, "http://127.0.0.1:1")
    words, environment = became.value.args
    assert words[-1] == f"{root}/config/mine.toml" and os.listdir(root / "config") == ["mine.toml"]
    assert (environment["TOKEN"], environment["MQTT_URL"]) == ("a" * 16, "")
    assert "Home Assistant names no broker" in capsys.readouterr().err
    key = Path(environment["KEY"])
    assert key == root / "data/tls/privkey.pem" and key.read_text() == "privkey.pem" and key.stat().st_mode & 0o777 == 0o600


def test_a_certificate_that_is_missing_is_told(tmp_path: Path, start: ModuleType) -> None:
    """The app ends, and says which file there is not."""
    root = device(tmp_path / "root", certificate="fullchain.pem", key="privkey.pem")
    with pytest.raises(SystemExit, match=re.escape(f"there is no `{root}/ssl/fullchain.pem`")):
        start.main([], root, "http://127.0.0.1:1")


def test_the_sample_takes_what_zigbee2mqtt_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A contact, a temperature, both, or neither: each message becomes what the comment in the file says."""
    shutil.copytree(APP / "sample", tmp_path / "sample")
    for name in ("MQTT_URL", "MQTT_USER", "MQTT_PASSWORD", "STATE"):
        monkeypatch.setenv(name, "mqtt://localhost:1883" if name == "MQTT_URL" else str(tmp_path / "state"))
    payloads = [{"contact": False, "temperature": 5.5, "linkquality": 80}, {"contact": True}, {"state": "ON"}]
    lines = [json.dumps({"topic": "zigbee2mqtt/fridge", "payload": one, "at": 1_795_358_053}) for one in payloads]
    (tmp_path / "messages.jsonl").write_text("\n".join(lines))
    done = tidelog("gateway", str(tmp_path / "sample/plant.toml"), "--try", str(tmp_path / "messages.jsonl"))
    assert [line.strip().partition("@")[0] for line in done.stdout.splitlines() if line.startswith("  ")] == [
        "zigbee: contact(fridge,open)",
        "zigbee: temp(fridge,5.5)",
        "zigbee: contact(fridge,closed)",
        "zigbee: nothing",
    ]
