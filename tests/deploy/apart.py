"""Images, containers and small Debians of a test's own, without a daemon: nothing of the machine's own is touched."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from children import WAIT

ROOT = Path(__file__).parents[2]
BASE = "localhost/stand-in"
_SYSTEM = platform.freedesktop_os_release() if sys.platform == "linux" else {}
RELEASE = _SYSTEM.get("VERSION_CODENAME") or "bookworm"
"""The Debian, or Ubuntu, that tests make: this machine's, since packages that are built here have its Python."""
_PARTS = "main,universe" if _SYSTEM.get("ID") == "ubuntu" else "main"
_APART = """
set -e
mount -t tmpfs none "$0"
if test "$1" = hide; then umount -R /sys/fs/cgroup; mount -t tmpfs none /sys/fs/cgroup; fi
echo ready
exec sleep infinity
"""
CERTIFICATES = Path("/etc/ssl/certs")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_there(port: int) -> bool:
    """Whether a gateway answers at a port of this machine."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=WAIT) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def needed(*programs: str) -> None:
    """Fail where one of these is not on the machine, and say what installs it."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
    missing = [name for name in programs if shutil.which(name, path=path) is None]
    assert not missing, f"{', '.join(missing)} not found: run .ci/packaging, which installs what these tests need"


class Apart:
    """Runs commands where a folder of the test is in memory, and seen by nobody else."""

    def __init__(self, folder: Path, prefix: list[str]) -> None:
        self.folder, self._prefix = folder, prefix
        self.environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}

    def command(self, *words: str | Path) -> list[str]:
        """What starts this there."""
        return [*self._prefix, *map(str, words)]

    def run(self, *words: str | Path, code: int = 0, more: Mapping[str, str] | None = None) -> str:
        """What a command prints, that ends with this code."""
        done = subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT,
            env={**self.environment, **(more or {})},
            cwd=ROOT,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout.strip()

    def make_debian(self, to: Path, *packages: str) -> None:
        """Make a small Debian with these packages, in a folder or as a tar file."""
        less = "--dpkgopt=path-exclude=/usr/share/{doc,man,locale}/*"
        kind = ["--variant=minbase", f"--components={_PARTS}", f"--include={','.join(packages)}"]
        self.run("mmdebstrap", "--quiet", *kind, less, RELEASE, to)


class Containers(Apart):
    """Runs Buildah and Podman on a store of its own, in which `BASE` is a small Debian with Python: no registry is asked."""

    def __init__(self, folder: Path, prefix: list[str]) -> None:
        super().__init__(folder, prefix)
        config = folder.with_suffix(".conf")
        config.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/run"\n')
        self.environment |= {"CONTAINERS_STORAGE_CONF": str(config), "BUILDAH_ISOLATION": "chroot"}

    def build_base(self) -> None:
        """Make `BASE` of Debian's packages."""
        folder = self.folder / "base"
        self.run("mkdir", folder)
        self.make_debian(folder / "base.tar", "python3-venv", "python3-pip", "ca-certificates")
        self.run("sh", "-c", f"printf 'FROM scratch\\nADD base.tar /\\n' > {folder}/Dockerfile")
        self.run("buildah", "build", "--tag", BASE, folder)
        self.run("rm", "-r", folder)


_Kind = TypeVar("_Kind", bound=Apart)


@contextmanager
def apart(folder: Path, kind: type[_Kind]) -> Iterator[_Kind]:
    """A place below this folder for the length of a `with` block. For root it is in memory, and gone behind it."""
    place = folder / "apart"
    place.mkdir()
    if os.getuid() != 0:
        yield kind(place, [])
        return
    # crun takes no machine that has both kinds of control groups; these containers need none.
    hide = "" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "hide"
    holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", _APART, place, hide], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"ready\n"
        yield kind(place, ["nsenter", "--mount", "--target", str(holder.pid), f"--wdns={ROOT}"])
    finally:
        holder.kill()
        holder.communicate()
