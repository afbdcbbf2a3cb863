"""The Debian package: it is installed, runs as its user, is installed again, and leaves nothing behind when it is purged."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from children import child
from deploy.apart import ROOT, Apart, apart, free_port, is_there, needed
from tidelog.version import VERSION
from waiting import eventually

UNIT = ROOT / "deploy" / "tidelog-gateway@.service"
KEPT = (
    "/var/lib/dpkg",
    "/var/log",
    "/var/cache",
    "/etc/passwd-",
    "/etc/group-",
    "/etc/shadow-",
    "/etc/gshadow-",
    "/opt",
    "/run/adduser",
)
"""What dpkg, adduser and ldconfig write of their own; `/opt` itself is in every Debian."""


@pytest.mark.long
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    """`systemd-analyze verify` has nothing to say of it, and finds that it is shut in well."""
    needed("systemd-analyze")
    there = tmp_path / UNIT.name.replace("@", "@plant")
    there.write_text(UNIT.read_text("utf-8").replace("/opt/tidelog/bin/tidelog", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", there], capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if there.name in line] == [] and done.returncode == 0, done.stderr
    # 10 is a service that may do everything
    weighed = ["systemd-analyze", "security", "--offline=true", "--threshold=20", there]
    done = subprocess.run(weighed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="to install a package, also into a folder, is for root")
def test_the_package_comes_and_goes(tmp_path: Path) -> None:
    """Built, looked through by lintian, installed into a small Debian, run, installed again, removed, purged."""
    needed("dpkg-buildpackage", "dh", "lintian", "mmdebstrap")
    with apart(tmp_path, Apart) as debian:
        package = Path(debian.run(ROOT / "deploy" / "build-deb", more={"EXTRAS": "gateway"}))
        assert package.name.startswith(f"tidelog_{VERSION}_")
        assert debian.run("lintian", "--fail-on=error,warning", package) == ""
        root = debian.folder / "root"
        debian.make_debian(root, "python3", "adduser", "ca-certificates")
        debian.run("cp", package, root / "tidelog.deb")
        before = files(debian, root)
        inside = ("chroot", root)
        debian.run(*inside, "dpkg", "--install", "/tidelog.deb")
        assert debian.run(*inside, "tidelog", "--version").startswith(f"tidelog {VERSION}")
        assert debian.run(*inside, "stat", "-c", "%A %U %G", "/etc/tidelog") == "drwxr-x--- root tidelog"
        changed = run_sample(debian, root, tmp_path / "told.txt")
        debian.run(*inside, "dpkg", "--install", "/tidelog.deb")
        assert debian.run("cat", root / "etc/tidelog/plant.toml") == changed
        debian.run(*inside, "dpkg", "--remove", "tidelog")
        left = files(debian, root) - before
        assert not [path for path in left if path.startswith(("/opt/", "/usr/", "/lib/"))]
        assert {"/etc/tidelog/plant.toml", "/var/lib/tidelog/plant"} <= left
        debian.run(*inside, "dpkg", "--purge", "tidelog")
        assert {path for path in files(debian, root) ^ before if not path.startswith(KEPT)} == set()
        assert "tidelog" not in debian.run("cat", root / "etc/passwd", root / "etc/group")


def files(debian: Apart, root: Path) -> set[str]:
    """All that is in a Debian, but what the kernel has there."""
    found = debian.run("find", root, "-xdev", "-path", f"{root}/proc", "-prune", "-o", "-printf", "/%P\n")
    return set(found.splitlines())


def run_sample(debian: Apart, root: Path, told: Path) -> str:
    """Run the sample as the unit does, on a port of its own, until it answers; returns its file."""
    port = free_port()
    file = root / "etc/tidelog/plant.toml"
    debian.run("sed", "-i", f"s/127.0.0.1:8080/127.0.0.1:{port}/", file)
    debian.run("chroot", root, "install", "-d", "-o", "tidelog", "-g", "tidelog", "-m", "0700", "/var/lib/tidelog")
    line = next(line for line in UNIT.read_text("utf-8").splitlines() if line.startswith("ExecStart="))
    words = line.removeprefix("ExecStart=").replace("%i", "plant").split()
    command = debian.command(
        "chroot", "--userspec=tidelog:tidelog", root, "env", "RUNTIME_DIRECTORY=/var/lib/tidelog", *words
    )
    with told.open("wb") as out, child(command, stdout=out, stderr=subprocess.STDOUT, env=debian.environment) as gateway:
        eventually(lambda: is_there(port), process=gateway)
        debian.run("chroot", "--userspec=tidelog:tidelog", root, *words, "--healthy")
        gateway.terminate()
    assert gateway.returncode == 143, told.read_text()
    return debian.run("cat", file)
