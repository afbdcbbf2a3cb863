"""JMESPath in a gateway's file: what of a payload is meant. Plain paths, as most are, are followed without the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from tidelog.plans.diagnostics.errors import DataError, SpecError

Find = Callable[[Any], Any]
"""Finds a value in a document; None where there is none."""


def read_path(text: str) -> Find:
    """What finds a path's value; it raises DataError where a function in it fails. SpecError for what is no JMESPath.

    >>> read_path("a.b[0]")({"a": {"b": [5]}})
    5
    """
    compiled = _compile(text)
    plain = _plain(compiled.parsed)
    if plain is not None:
        return _follow(plain)
    search = compiled.search

    def find(document: Any) -> Any:
        try:
            return search(document)
        except (JMESPathError, ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise DataError(f"`{text}` cannot be found: {' '.join(str(error).split())}") from None

    return find


def is_true(value: Any) -> bool:
    """Whether JMESPath takes a value for true: numbers are, also 0; false, null and what is empty are not.

    >>> [is_true(value) for value in (0, 0.0, "0", True)], [is_true(value) for value in (False, None, "", [], {})]
    ([True, True, True, True], [False, False, False, False, False])
    """
    return value is not None and value is not False and value not in ("", [], {})


def members_of(text: str) -> set[str]:
    """The members of the document itself that a path may read; SpecError for what is no JMESPath."""
    return set(_first_members(_compile(text).parsed))


def only_member(text: str) -> str | None:
    """The member of the document itself that is all that a path follows; None for any other path.

    >>> only_member('"a b"'), only_member("a.b")
    ('a b', None)
    """
    plain = _plain(_compile(text).parsed)
    return plain[0] if plain is not None and len(plain) == 1 else None


def _compile(text: str) -> Any:
    try:
        return jmespath.compile(text)
    except JMESPathError as error:
        raise SpecError(f"`{text}` is no JMESPath: {' '.join(str(error).split())}") from None


def _first_members(node: dict[str, Any]) -> Iterator[str]:
    if node["type"] == "field":
        yield node["value"]
    children = [child for child in node.get("children", ()) if isinstance(child, dict)]
    is_chain = node["type"] in ("subexpression", "index_expression", "projection", "value_projection", "filter_projection")
    for child in children[:1] if is_chain else children:
        yield from _first_members(child)


def _plain(node: dict[str, Any]) -> tuple[str, ...] | None:
    """The members that a path goes through, where it does nothing else."""
    if node["type"] == "current":
        return ()
    if node["type"] == "field":
        return (node["value"],)
    if node["type"] != "subexpression":
        return None
    parts = [_plain(child) for child in node["children"]]
    return None if None in parts else tuple(name for part in parts for name in part or ())


def _follow(names: tuple[str, ...]) -> Find:
    if not names:
        return lambda document: document
    if len(names) == 1:
        only = names[0]
        return lambda document: document.get(only) if document.__class__ is dict else None

    def find(document: Any) -> Any:
        for name in names:
            if document.__class__ is not dict:
                return None
            document = document.get(name)
        return document

    return find
