"""The image of `deploy/build-image` runs as nobody, writes to its volume alone, and goes on with its state."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import tarfile
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from children import WAIT, child
from deploy.apart import BASE, CERTIFICATES, ROOT, Containers, apart, free_port, is_there, needed
from pages.blocks import blocks
from tidelog.version import VERSION
from waiting import eventually

DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
PROGRAM = """\
timeline integer, unit 1 s.
input opened(door: text). input passed(door: text).
output used.
used(D) :- opened(D) within 1 h, passed(D) within 1 h.
"""
SETTINGS = """\
program = "plant.tide"
state = "/var/lib/tidelog/plant"
emit = "intervals"
[http]
listen = "127.0.0.1:{port}"
[[sink]]
name = "screen"
type = "spec"
spec = "-"
"""
RUN = (
    "podman",
    "run",
    "--rm",
    "--network=host",
    "--cgroups=disabled",
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=1024:1024",
)
"""What starts a container; control groups and a network of its own are not needed here."""
TAKES = ("--name", "--restart", "--memory", "--volume", "--publish", "--cap-drop", "--security-opt")
"""The options of the documents that have a value behind them."""


def documented() -> tuple[list[str], dict[str, list[str]], str]:
    """The `docker run` of docs/howto/deploy.md: its options without a value, those with one, and the image."""
    (block,) = (one.text for one in blocks((ROOT / "docs/howto/deploy.md").read_text("utf-8")) if "docker run" in one.text)
    program, verb, *words, image = shlex.split(block.replace("\\\n", ""))
    assert (program, verb) == ("docker", "run")
    alone: list[str] = []
    values: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if word in TAKES:
            values.setdefault(word, []).append(next(rest))
        else:
            alone.append(word)
    return alone, values, image


def test_the_documents_run_the_image_as_it_is() -> None:
    """With the folders of the image, and its version; without rights, on a root that is read-only."""
    alone, values, image = documented()
    assert alone == ["--detach", "--read-only"] and image == f"ghcr.io/tidelog/tidelog:{VERSION}"
    assert values["--volume"] == ["./plant:/etc/tidelog:ro", "plant-state:/var/lib/tidelog"]
    assert (values["--cap-drop"], values["--security-opt"]) == (["all"], ["no-new-privileges"])


def test_bases_are_pinned() -> None:
    """The base has a digest, and both stages have that base; nothing in the image is fetched but Python's packages."""
    assert re.search(r"^ARG BASE=docker\.io/library/python:3\.\d+-slim@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${BASE}", "${BASE}"]
    assert not re.search(r"curl|wget|apt-get", DOCKERFILE)


def post(port: int, fact: dict[str, Any]) -> None:
    """Hand in a fact."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/ingest", json.dumps([fact]).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=WAIT) as answer:  # noqa: S310 - of this machine
        assert answer.status == 202


@pytest.mark.long
def test_the_image_runs_and_goes_on(tmp_path: Path) -> None:
    """Built on a base of Debian's packages in place of a registry's; started, fed, asked, stopped and started again."""
    port = free_port()
    plant = tmp_path / "plant"
    plant.mkdir()
    (plant / "plant.tide").write_text(PROGRAM)
    (plant / "plant.toml").write_text(SETTINGS.format(port=port))
    needed("buildah", "podman", "crun", "mmdebstrap")
    with apart(tmp_path, Containers) as tool:
        tool.build_base()
        volumes = str(CERTIFICATES) if CERTIFICATES.is_dir() else ""
        more = {"BASE": BASE, "VOLUMES": volumes, "ARCHIVE": str(tmp_path / "image.tar")}
        told = tool.run(ROOT / "deploy" / "build-image", more=more)
        assert re.search(rf"^localhost/tidelog:{re.escape(VERSION)} +[\d.]+ MB$", told, re.MULTILINE)
        look_at(tool)
        look_into(tmp_path / "image.tar", told)
        run_twice(tool, plant, port, tmp_path / "told.txt")
        run_app(tool, plant, port, tmp_path)


def look_at(tool: Containers) -> None:
    """The image says who made it of what, runs as nobody, and knows how its health is asked for."""
    found = json.loads(tool.run("podman", "image", "inspect", f"localhost/tidelog:{VERSION}"))[0]
    labels, config = found["Labels"], found["Config"]
    assert labels["org.opencontainers.image.version"] == VERSION
    assert re.fullmatch(r"[0-9a-f]{40}|unknown", labels["org.opencontainers.image.revision"])
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert config["User"] == "10001:10001" and config["Volumes"] == {"/var/lib/tidelog": {}}
    assert found["HealthCheck" if "HealthCheck" in found else "Healthcheck"]["Test"][:2] == ["CMD", "tidelog"]


def look_into(archive: Path, told: str) -> None:
    """What is pushed by another machine is the image as it is, with its health check, under the digest that was told."""
    with tarfile.open(archive) as packed:

        def read(name: str) -> bytes:
            file = packed.extractfile(f"./{name}")
            assert file is not None
            return file.read()

        manifest = read("manifest.json")
        assert f"packed localhost/tidelog@sha256:{hashlib.sha256(manifest).hexdigest()} into {archive}" in told
        config = json.loads(read(json.loads(manifest)["config"]["digest"].removeprefix("sha256:")))["config"]
    assert config["Healthcheck"]["Test"][:2] == ["CMD", "tidelog"] and config["User"] == "10001:10001"


def run_twice(tool: Containers, plant: Path, port: int, told: Path) -> None:
    """Half of what makes an answer comes before a restart, half behind it."""
    facts = [{"opened": {"door": "north"}, "time": 1_700_000_000}, {"passed": {"door": "north"}, "time": 1_700_000_060}]
    _, values, _ = documented()
    strict = [f"{name}={value}" for name in ("--cap-drop", "--security-opt", "--volume") for value in values[name]]
    strict = [word.replace("./plant", str(plant)) for word in strict] + ["--read-only", "--read-only-tmpfs=false"]
    for number, fact in enumerate(facts):
        command = tool.command(*RUN, f"--name=plant{number}", *strict, f"localhost/tidelog:{VERSION}")
        with told.open("wb") as out, child(command, stdout=out, stderr=subprocess.STDOUT, env=tool.environment) as process:
            eventually(lambda process=process: is_there(port), process=process)
            tool.run("podman", "healthcheck", "run", f"plant{number}")
            inside = ("podman", "exec", f"plant{number}")
            assert tool.run(*inside, "id", "-u") == "10001"
            tool.run(*inside, "python3", "-c", "open('/var/lib/tidelog/mine', 'w')")
            for place in ("/mine", "/tmp/mine", "/opt/tidelog/mine", "/etc/tidelog/mine"):  # noqa: S108 - not to be written
                tool.run(*inside, "sh", "-c", f"! touch {place}")
            post(port, fact)
            if number:
                eventually(lambda: "used" in told.read_text())
                assert '"interval":"[2023-11-14T22:14:20Z,2023-11-14T23:13:20Z]"' in told.read_text()
            tool.run("podman", "stop", "--time=60", f"plant{number}")  # it is killed behind that, and says 137
        assert process.returncode == 143, told.read_text()
        assert "used" not in told.read_text() or number


def run_app(tool: Containers, plant: Path, port: int, folder: Path) -> None:
    """The app for Home Assistant, built on the image, runs as the same user, and keeps its state in `/data`."""
    official = "ghcr.io/tidelog/tidelog"
    tool.run("buildah", "tag", f"localhost/tidelog:{VERSION}", f"{official}:{VERSION}")
    options = ["--pull-never", "--format=docker", "--build-arg", f"BUILD_VERSION={VERSION}", "--build-arg=BUILD_ARCH=amd64"]
    tool.run("buildah", "build", *options, "--tag=localhost/app", ROOT / "deploy" / "homeassistant")
    data, told = folder / "data", folder / "app.txt"
    data.mkdir()
    (data / "options.json").write_text('{"file":"plant.toml"}')
    (plant / "plant.toml").write_text(SETTINGS.format(port=port).replace("/var/lib/tidelog/plant", "${STATE}"))
    command = tool.command(*RUN, "--name=app", f"--volume={data}:/data", f"--volume={plant}:/config", "localhost/app")
    with told.open("wb") as out, child(command, stdout=out, stderr=subprocess.STDOUT, env=tool.environment) as process:
        eventually(lambda: is_there(port), process=process)
        tool.run("podman", "healthcheck", "run", "app")
        assert tool.run("podman", "exec", "app", "stat", "-c", "%u %U", "/proc/1") == "10001 tidelog"
        tool.run("podman", "stop", "--time=60", "app")
    assert process.returncode == 143, told.read_text()
    assert (data / "state/plant").is_dir() and (data / "state").stat().st_uid == 10001
