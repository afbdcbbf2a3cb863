"""The playbook: a small Debian, which it configures itself, has a gateway behind it, and nothing changes the second time."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from deploy.apart import ROOT, Apart, apart, needed
from tidelog.version import VERSION

SECRET = "the password of a broker"  # noqa: S105 - of this test


def test_each_variable_is_told() -> None:
    """docs/howto/deploy.md has a line for each variable of the playbook."""
    play = yaml.safe_load((ROOT / "deploy/ansible/gateway.yml").read_text("utf-8"))[0]
    told = re.findall(r"^\| `(tidelog_\w+)` \|", (ROOT / "docs/howto/deploy.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(told) == sorted(play["vars"])


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="to change into a folder as the root of a Debian is for root")
def test_the_playbook_makes_a_gateway(tmp_path: Path) -> None:
    """All but starting it, for which a folder has no systemd: installed, configured, checked, its secret for it alone."""
    needed("mmdebstrap")
    with apart(tmp_path, Apart) as debian:
        root = debian.folder / "root"
        debian.make_debian(root, "ansible-core", "python3-venv", "ca-certificates", "python3-apt")
        for folder in ("proc", "dev"):
            debian.run("mount", "--rbind", f"/{folder}", root / folder)
        for path in filter(os.path.exists, ("/etc/ssl/certs", "/etc/resolv.conf")):  # those of this machine's registries
            debian.run("mount", "--bind", os.path.realpath(path), root / path[1:])
        debian.run(ROOT / "deploy" / "copy-source", root / "source")
        debian.run("cp", "-R", ROOT / "deploy", root / "deploy")
        inside = ("chroot", root)
        debian.run(*inside, "apt-get", "update", "-q")  # its lists are thrown away once it is made
        debian.run(*inside, "sh", "-c", "python3 -m venv /build && /build/bin/pip wheel -q --no-deps -w /wheels /source")
        debian.run(*inside, "sh", "-c", "mkdir /plant && cp /deploy/homeassistant/sample/plant.tide /plant")
        (tmp_path / "plant.toml").write_text(f'program = "plant.tide"\nstate = "/var/lib/tidelog/plant"\n{MQTT}')
        debian.run("cp", tmp_path / "plant.toml", root / "plant")
        (tmp_path / "more.yml").write_text(MORE)
        debian.run("cp", tmp_path / "more.yml", root)
        play = [*inside, "ansible-playbook", "-i", "/hosts.ini", "-e", "@/more.yml", "/deploy/ansible/gateway.yml"]
        debian.run("sh", "-c", f"echo '[gateways]\nlocalhost ansible_connection=local' > {root}/hosts.ini")
        debian.run(*play, "--syntax-check")
        first = debian.run(*play)
        assert SECRET not in first and re.search(r"changed=[1-9].* failed=0", first), first
        assert re.search(r"changed=0 .* failed=0", debian.run(*play))
        assert debian.run(*inside, "/opt/tidelog/bin/tidelog", "--version").startswith(f"tidelog {VERSION}")
        modes = debian.run(*inside, "stat", "-c", "%A %U %G", "/etc/tidelog/secrets", "/etc/tidelog/secrets/mqtt")
        assert modes.splitlines() == ["drwxr-x--- root tidelog", "-rw-r----- root tidelog"]
        as_gateway = ("chroot", "--userspec=tidelog:tidelog", root)
        assert debian.run(*as_gateway, "cat", "/etc/tidelog/secrets/mqtt") == SECRET
        debian.run("sh", "-c", f"echo 'wrong(' >> {root}/plant/plant.tide")
        assert "error[syntax]" in debian.run(*play, code=2)


MQTT = """\
[[source]]
name = "floor"
type = "mqtt"
url = "mqtt://localhost:1883"
password = { file = "/etc/tidelog/secrets/mqtt" }
topics = ["facts"]
format = "facts"
"""
MORE = f"""\
tidelog_files: /plant
tidelog_secrets: {{mqtt: "{SECRET}"}}
tidelog_pip_arguments: --find-links /wheels
"""
