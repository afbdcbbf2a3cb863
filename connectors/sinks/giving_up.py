"""What every sink does with an answer that can never be delivered: it is a dead letter, and the others go on."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from tidelog.connectors.formats.formatting import Encoder, encode_with_ids
from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import AnyAnswer, Rejected, TakeLetters

logger = logging.getLogger("tidelog")

ENCODING_ERRORS = (ValueError, TypeError, OverflowError)
"""What an encoder raises for a value that its format does not have."""


class GivingUp:
    """A sink that gives up answers, each as a dead letter with its reason; used without an engine, it logs them."""

    name: str
    given_up = 0
    """How many answers could not be delivered."""
    _letters: TakeLetters | None = None

    def give_up_to(self, take: TakeLetters) -> None:
        """Hand dead letters to `take`, which has them when it returns."""
        self._letters = take

    async def _give_up(self, answer: AnyAnswer, reason: str, encoder: Encoder | None = None) -> None:
        """This answer is not delivered. The dead letter has it as `encoder` writes it, where that can be."""
        self.given_up += 1
        record = answer if isinstance(answer, tuple) else None
        letter = Rejected(self.name, reason, _shown(answer, encoder)[:RAW_LIMIT], record)
        if self._letters is None:
            logger.warning("%s: an answer cannot be delivered: %s", self.name, reason)
        else:
            await self._letters([letter])

    async def _lines(self, encoder: Encoder, answers: Sequence[AnyAnswer], heading: Heading | None = None) -> bytes:
        """Answers as lines, with ids under a heading; those that cannot be encoded are given up."""
        try:
            return _encoded(encoder, answers, heading)
        except ENCODING_ERRORS:
            pass
        lines = []
        for i, answer in enumerate(answers):
            try:
                lines.append(_encoded(encoder, [answer], heading and replace(heading, first=heading.first + i)))
            except ENCODING_ERRORS as error:
                await self._give_up(answer, unencodable(error))
        return b"".join(lines)


def _encoded(encoder: Encoder, answers: Sequence[AnyAnswer], heading: Heading | None) -> bytes:
    return encoder.encode(answers) if heading is None else encode_with_ids(encoder, heading, answers)


def unencodable(error: Exception) -> str:
    """The reason for an answer that a format cannot express."""
    return f"it cannot be encoded: {' '.join(str(error).split())}"


def _shown(answer: AnyAnswer, encoder: Encoder | None) -> bytes:
    """An answer as its format has it, or, where none has, for people."""
    if encoder is not None:
        with suppress(*ENCODING_ERRORS):
            return encoder.encode([answer]).rstrip(b"\n")
    return ascii(tuple(answer) if isinstance(answer, tuple) else answer).encode()
