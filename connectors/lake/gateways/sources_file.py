"""A file that names outboxes, a line each: gateways that come later are added to it while it is used."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from tidelog.connectors.lake.gateways.origins import Access, Origin, place_of
from tidelog.plans.diagnostics.errors import SpecError


class SourcesFile:
    """The file at `path`, whose outboxes come behind those that are `named` elsewhere. `#` begins a comment."""

    def __init__(self, path: str, named: Sequence[Origin], access: Access) -> None:
        self._path, self._named, self._access = path, tuple(named), access
        self._seen: object = None

    def read(self) -> list[Origin]:
        """All outboxes that are named now. SpecError where the file cannot be read, or a line names none."""
        try:
            self._seen = self._stamp()
            with open(self._path, encoding="utf-8") as file:
                lines = [line.partition("#")[0].strip() for line in file]
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(f"cannot read `{self._path}`, which is to name outboxes: {error}") from None
        found = [Origin(place_of(line), self._access) for line in lines if line]
        return list(dict.fromkeys((*self._named, *found)))

    def changed(self, tell: Callable[[str], None]) -> list[Origin] | None:
        """What it names, where it has changed since it was read; None where not. That it cannot be read is told."""
        try:
            return self.read() if self._stamp() != self._seen else None
        except (OSError, SpecError) as error:
            stamp = (type(error).__name__, str(error))
            if stamp != self._seen:
                tell(f"what `{self._path}` named before still counts: {error}")
            self._seen = stamp
            return None

    def _stamp(self) -> object:
        status = os.stat(self._path)
        return status.st_mtime_ns, status.st_size, status.st_ino
