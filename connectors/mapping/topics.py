"""Topics, and what of them is of interest: `plant/{machine}/temperature`, with `+` for a level, `#` for all that follow."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidelog.plans.diagnostics.errors import SpecError

_NAMED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}\Z")
MAX_TOPIC = 65_535
"""The longest topic that MQTT has, in bytes."""


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A filter whose levels may have names.

    >>> pattern = TopicPattern.parse("plant/{machine}/+/#")
    >>> pattern.filter, pattern.match("plant/press/a/b/c"), pattern.match("plant/press")
    ('plant/+/+/#', {'machine': 'press'}, None)
    """

    filter: str
    levels: tuple[str, ...]
    names: dict[str, int]

    @classmethod
    def parse(cls, text: str) -> TopicPattern:
        """The pattern of a text; SpecError where it is no filter of MQTT's."""
        if not text or "\0" in text or len(text.encode()) > MAX_TOPIC:
            raise SpecError(f"`{text[:80]}` is no topic: it has 1 to {MAX_TOPIC} bytes")
        levels, names = text.split("/"), {}
        for i, level in enumerate(levels):
            named = _NAMED.match(level)
            if named:
                if named[1] in names:
                    raise SpecError(f"`{text}` has two levels `{{{named[1]}}}`")
                names[named[1]], levels[i] = i, "+"
            elif level == "#" and i + 1 < len(levels):
                raise SpecError(f"`{text}`: `#` stands last in a topic")
            elif level not in ("+", "#") and set(level) & set("+#{}"):
                raise SpecError(
                    f"`{text}`: a level is a name, `+`, `#`, or a name in braces, such as `{{machine}}`, got `{level}`"
                )
        return cls("/".join(levels), tuple(levels), names)

    def match(self, topic: str) -> dict[str, str] | None:
        """The levels that have names, or None for another topic. As in MQTT, wildcards do not begin a topic with `$`."""
        given = topic.split("/")
        if given[0][:1] == "$" and self.levels[0] in ("+", "#"):
            return None
        for i, level in enumerate(self.levels):
            if level == "#":
                break
            if i >= len(given) or level not in ("+", given[i]):
                return None
        else:
            if len(given) != len(self.levels):
                return None
        return {name: given[i] for name, i in self.names.items()}
