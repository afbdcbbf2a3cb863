"""Subjects, such as `plant.hall.temp`, and the topics by which maps know them: their dots are slashes."""

from __future__ import annotations

import re
from typing import ClassVar

from tidelog.connectors.mapping.templates import TopicTemplate
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import AnyAnswer

_SUBJECT = re.compile(r"[^\x00-\x20\x7f]+\Z")


def topic_of(subject: str) -> str:
    """The topic of a message.

    >>> topic_of("plant.hall.temp")
    'plant/hall/temp'
    """
    return subject.replace(".", "/")


def subject_of(topic: str) -> str:
    """The subjects of a map's topic. SpecError where it has a dot within a level, which no subject has.

    >>> subject_of("plant/{room}/+"), subject_of("plant/#")
    ('plant.*.*', 'plant.>')
    """
    levels = TopicPattern.parse(topic).levels
    if any("." in level for level in levels):
        raise SpecError(
            f"`{topic}`: a level of a subject has no dot: in maps its dots are slashes, such as `plant/{{room}}`"
        )
    return checked(".".join({"+": "*", "#": ">"}.get(level, level) for level in levels))


def checked(subject: str) -> str:
    """The subject, with wildcards `*` and `>`; SpecError where it is none."""
    tokens = subject.split(".")
    odd = [
        one
        for i, one in enumerate(tokens)
        if set(one) & set("*>") and not (one == "*" or (one == ">" == tokens[-1] and i + 1 == len(tokens)))
    ]
    if not _SUBJECT.match(subject) or "" in tokens or odd:
        raise SpecError(
            f"`{subject}` is no subject: words with dots between them, `*` for a word, and `>` for all that follow"
        )
    return subject


class SubjectTemplate(TopicTemplate):
    """Subjects of answers: what would be a word or a wildcard of its own within a value becomes `_`, and so does no text."""

    separator: ClassVar[str] = "."
    barred: ClassVar[re.Pattern[str]] = re.compile(r"[.*>\x00-\x20\x7f]")
    what: ClassVar[str] = "subject to publish to: words with dots between them, without `*`, `>` and blanks"

    def topic(self, answer: AnyAnswer) -> str:
        """Where an answer goes."""
        subject = super().topic(answer)
        return ".".join([word or "_" for word in subject.split(".")]) if ".." in f".{subject}." else subject
