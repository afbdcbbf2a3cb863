"""Mails of answers: subject, text, and what tells a mail from all others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from hashlib import blake2s
from typing import Final

from tidelog.connectors.mapping.templates import Template
from tidelog.connectors.notify.writers import cut
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer

MOST_SUBJECT: Final = 200
"""Characters of a subject: a longer one is cut, with a mark."""
_PLAIN = re.compile(r"(?:[\t -~]{0,900}\n)*[\t -~]{0,900}")
_AS_IT_IS: Final = (
    b'Content-Type: text/plain; charset="utf-8"\r\nContent-Transfer-Encoding: 7bit\r\nMIME-Version: 1.0\r\n\r\n'
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Letter:
    """What is said of one answer. `number` is the answer's, `thread` is the same for its begin and its end."""

    answer: AnyAnswer
    number: int
    subject: str
    text: str
    thread: str


class LetterWriter:
    """Writes mails from a sender to recipients, by the templates of subject and text."""

    def __init__(self, sender: str, to: Sequence[str], subject: Template, text: Template, gateway: str) -> None:
        self.sender, self.to, self._gateway = sender, list(to), gateway
        self._subject, self._text = subject, text
        self._domain = sender.rpartition("@")[2]
        self.asks_why = subject.asks_why or text.asks_why

    def letter(self, answer: AnyAnswer, number: int, reason: str) -> Letter:
        """What is said of an answer. Raises what an encoder raises for what no mail can say."""
        subject = cut(_CONTROL.sub(" ", self._subject.filled(answer, reason)).strip(), MOST_SUBJECT)
        text = str(self._text.filled(answer, reason))
        for one in (subject, text):
            one.encode()  # half of a surrogate pair would be sent as something else
        return Letter(answer, number, subject, text, _thread(answer))

    def mail(self, letters: Sequence[Letter], run: str) -> bytes:
        """One mail of these letters: the same letters of a run have the same `Message-ID`."""
        first, last = letters[0], letters[-1]
        headers = {"From": self.sender, "To": ",\r\n ".join(self.to)}
        if len(letters) == 1:
            identity, text, subject = f"{run}-{first.number}", first.text, first.subject
            headers["References"] = f"<{first.thread}@{self._domain}>"
        else:
            identity, subject = f"{run}-{first.number}-{last.number}", f"{len(letters)} messages of {self._gateway}"
            text = "\n\n".join(f"{letter.subject}\n{letter.text.rstrip()}" for letter in letters)
        headers["Subject"], headers["Message-ID"] = _subject(subject), f"<{identity}@{self._domain}>"
        headers["Date"], headers["Auto-Submitted"] = format_datetime(datetime.now(UTC)), "auto-generated"
        return "".join([f"{name}: {value}\r\n" for name, value in headers.items()]).encode() + _content(text)


def _content(text: str) -> bytes:
    """A text with the headers that say how it is encoded. One of plain lines is itself; the library takes long over it."""
    if _PLAIN.fullmatch(text):
        ended = text if text.endswith("\n") else f"{text}\n"
        return _AS_IT_IS + ended.replace("\n", "\r\n").encode()
    content = EmailMessage(SMTP)
    content.set_content(text)
    return content.as_bytes()


def _subject(text: str) -> str:
    """A subject as a header has it. The library's own folding adds spaces where words are encoded in part."""
    if text.isascii() and "=?" not in text:
        return text
    return Header(text, "utf-8", header_name="Subject").encode(linesep="\r\n")


def _thread(answer: AnyAnswer) -> str:
    """A name of what an answer tells of, from its begin on."""
    told = [answer.query, answer.answer] if isinstance(answer, HypotheticalAnswer) else list(answer[:3])
    return blake2s(repr(told).encode(), digest_size=12).hexdigest()
