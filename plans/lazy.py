"""What a package exports, loaded when it is first asked for (PEP 562), so that nobody waits for what is not used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def exports(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package; `homes` tells for each of its modules the names that it gives.

    A module's own name is found, too, so that `tidelog.connectors` needs no import of its own. AttributeError for what the
    package does not have.
    """
    home_of = {name: f"{package}.{module}" for module, names in homes.items() for name in names}
    modules = {module.partition(".")[0] for module in homes}

    def find(name: str) -> object:
        if name in home_of:
            found: object = getattr(import_module(home_of[name]), name)
        elif name in modules:
            found = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module `{package}` has no attribute `{name}`", name=name, obj=sys.modules[package])
        setattr(sys.modules[package], name, found)
        return found

    return find, lambda: sorted({*vars(sys.modules[package]), *home_of})
