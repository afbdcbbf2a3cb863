"""Starts the gateway as an app of Home Assistant. What its options, the Supervisor and the certificates say becomes the
environment of `tidelog gateway`, which then runs in place of this, as a user without rights.

`start.py --healthy` asks the gateway that was started so.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import urllib.request
from pathlib import Path
from typing import Any

USER = 10001
"""The user of the image."""


def main(arguments: list[str], root: Path = Path("/"), supervisor: str = "http://supervisor") -> None:
    """Become the gateway, or what asks whether it is healthy."""
    kept = root / "run" / "tidelog.json"
    if arguments != ["--healthy"]:
        kept.parent.mkdir(exist_ok=True)
        kept.touch(mode=0o600)
        kept.write_text(json.dumps(prepare(root, supervisor)), "utf-8")
    told = json.loads(kept.read_text("utf-8"))
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
    command = ["tidelog", "gateway", told["file"], *arguments]
    os.execvpe("tidelog", command, {**os.environ, **told["environment"]})  # noqa: S606, S607 - the image has it in its path


def prepare(root: Path, supervisor: str) -> dict[str, Any]:
    """Make the folders and copies that the gateway needs; returns its file, and what its environment gets."""
    options = json.loads((root / "data" / "options.json").read_text("utf-8"))
    file = root / "config" / options["file"]
    if not any((root / "config").glob("*.toml")):
        copy_sample(root / "config")
    environment = {"STATE": str(own(root / "data" / "state")), "RUNTIME_DIRECTORY": str(own(root / "data" / "run"))}
    environment |= broker(supervisor)
    if options.get("token"):
        environment["TOKEN"] = options["token"]
    tls = own(root / "data" / "tls")
    for name in ("certificate", "key"):
        if options.get(name):
            environment[name.upper()] = str(copy_for_gateway(root / "ssl" / options[name], tls))
    return {"file": str(file), "environment": environment}


def copy_sample(to: Path) -> None:
    """Write a first program, and a file for it, for its user to change."""
    here = Path(__file__).parent
    sample = here / "sample" if (here / "sample").is_dir() else here
    for path in sorted(sample.glob("plant.*")):
        shutil.copyfile(path, to / path.name)
        say(f"wrote {to / path.name}: change it, and start the app again")


def own(folder: Path) -> Path:
    """A folder that only the gateway can read."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if os.getuid() == 0:
        os.chown(folder, USER, USER)
    return folder


def copy_for_gateway(file: Path, folder: Path) -> Path:
    """A copy of a certificate or its key, which is root's. One that is renewed counts from the next start."""
    if not file.is_file():
        sys.exit(f"tidelog: there is no `{file}`, which the options of the app name: see Settings, System, Network")
    to = folder / file.name
    to.unlink(missing_ok=True)
    to.touch(mode=0o600)
    to.write_bytes(file.read_bytes())
    if os.getuid() == 0:
        os.chown(to, USER, USER)
    return to


def broker(supervisor: str) -> dict[str, str]:
    """Where the broker of Home Assistant is, and who we are there."""
    request = urllib.request.Request(  # noqa: S310 - the Supervisor's address
        f"{supervisor}/services/mqtt", headers={"authorization": f"Bearer {os.environ.get('SUPERVISOR_TOKEN', '')}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - the same address
            found = json.load(answer)["data"]
    except (OSError, ValueError, KeyError) as error:
        say(f"Home Assistant names no broker ({error}): MQTT_URL, MQTT_USER and MQTT_PASSWORD are empty")
        return {"MQTT_URL": "", "MQTT_USER": "", "MQTT_PASSWORD": ""}
    scheme = "mqtts" if found.get("ssl") else "mqtt"
    return {
        "MQTT_URL": f"{scheme}://{found['host']}:{found['port']}",
        "MQTT_USER": found.get("username") or "",
        "MQTT_PASSWORD": found.get("password") or "",
    }


def say(text: str) -> None:
    """Write a line to the app's log."""
    sys.stderr.write(f"tidelog: {text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
