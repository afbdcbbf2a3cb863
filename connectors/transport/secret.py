"""Secrets: where a password or a token is to be found. What is found is never printed."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tidelog.plans.diagnostics.errors import SpecError

MAX_SECRET = 65_536
"""The longest secret, in bytes: what is longer is another file."""


class Secret(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A secret by its place: one of an environment variable, a file, and a credential that systemd hands in.

    >>> Secret(env="MQTT_PASSWORD")
    Secret(env='MQTT_PASSWORD', file='', credential='')
    """

    env: str = ""
    file: str = ""
    credential: str = ""

    def reveal(self, folder: str | os.PathLike[str] = ".") -> str:
        """The secret itself, without the line end behind it; a relative path starts at `folder`. SpecError if there is none.

        Read each time that it is needed, so that one that has changed counts at the next connection.
        """
        if sum(map(bool, (self.env, self.file, self.credential))) != 1:
            raise SpecError("a secret has one of `env`, `file` and `credential`")
        if self.env:
            if self.env not in os.environ:
                raise SpecError(f"the environment has no `{self.env}`, which is to hold a secret")
            return os.environ[self.env]
        return _content(self._path(folder))

    def _path(self, folder: str | os.PathLike[str]) -> Path:
        if self.file:
            return Path(folder) / self.file
        home = os.environ.get("CREDENTIALS_DIRECTORY")
        if home is None:
            raise SpecError(f"there are no credentials of systemd, which are to hold `{self.credential}`")
        return Path(home) / self.credential


def _content(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_SECRET + 1)
    except OSError as error:
        raise SpecError(f"cannot read the secret in `{path}`: {os.strerror(error.errno or 0)}") from None
    if len(data) > MAX_SECRET:
        raise SpecError(f"`{path}` is too long for a secret: more than {MAX_SECRET} bytes")
    try:
        return data.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise SpecError(f"the secret in `{path}` is not UTF-8") from None
