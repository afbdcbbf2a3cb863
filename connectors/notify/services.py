"""Services of messages: how long a message may be, how it is posted, and what their refusals mean.

Each function makes the shape of what is posted from a table with the member `text`, which is cut to what the service takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from tidelog.connectors.http.posting import Refusal
from tidelog.connectors.mapping.templates import state_of
from tidelog.connectors.notify.writers import Shape, cut, utf8_bytes, utf16_units
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer

NTFY_MOST: Final = 4096
"""Bytes of a message: a longer one would be sent as a file."""
NTFY_TITLE: Final = 250
SLACK_MOST: Final = 40_000
"""Characters; Slack cuts what is longer without a mark."""
TELEGRAM_MOST: Final = 4096
"""Units of UTF-16."""
TEAMS_MOST: Final = 20_000
"""Bytes of a text as JSON: Teams takes 28 KB with the card around it."""
PRIORITIES: Final = {"critical": 5, "high": 4, "medium": 3, "low": 2}
"""Priorities of ntfy, by those of alarms."""


def slack(table: dict[str, Any], answer: AnyAnswer) -> object:
    """Slack, and what is like it: `&`, `<` and `>` begin nothing there."""
    text = cut(table["text"], SLACK_MOST, lambda text: len(_slack_escaped(text)))
    return {"text": _slack_escaped(text)}


def _slack_escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def judge_slack(status: int, body: bytes) -> Refusal | None:
    """An archived channel, or one that is not there, is to be mended."""
    is_of_place = status == 410 or body.strip() in (b"channel_not_found", b"channel_is_archived", b"invalid_token")
    return Refusal("of the place") if is_of_place else None


def telegram(chat: str | int) -> Shape:
    """A message to a chat, as plain text."""
    return lambda table, answer: {"chat_id": chat, "text": cut(table["text"], TELEGRAM_MOST, utf16_units)}


class _TelegramParameters(msgspec.Struct):
    retry_after: float | None = None


class _TelegramError(msgspec.Struct):
    description: str = ""
    parameters: _TelegramParameters = msgspec.field(default_factory=_TelegramParameters)


def judge_telegram(status: int, body: bytes) -> Refusal | None:
    """After how many seconds one may come again stands in the body; a chat that is not there is to be mended."""
    try:
        found = msgspec.json.decode(body, type=_TelegramError)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if status == 429:
        return Refusal("passing", found.parameters.retry_after)
    is_of_chat = any(
        words in found.description.lower() for words in ("chat not found", "chat_id", "upgraded to a supergroup")
    )
    return Refusal("of the place") if status == 400 and is_of_chat else None


def teams(table: dict[str, Any], answer: AnyAnswer) -> object:
    """A card with a text, for a workflow that posts cards to a channel."""
    text = cut(table["text"], TEAMS_MOST, lambda text: len(msgspec.json.encode(text)))
    block = {"type": "TextBlock", "text": text, "wrap": True}
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [block],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def judge_teams(status: int, body: bytes) -> Refusal | None:
    """A workflow that is turned off is to be turned on."""
    return Refusal("of the place") if b"WorkflowTriggerIsNotEnabled" in body else None


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a message, by which whoever reads it acknowledges the alarm: the address of the gateway, and a token
    for it, which everybody sees who reads the topic. `comment` stands in the history."""

    url: str
    token: str = field(repr=False)
    comment: str = "by ntfy"


@dataclass(frozen=True, slots=True)
class Ntfy:
    """Messages to a topic of ntfy. The table has `title`, `link`, `severity` and `alarm_id`, too.

    What begins has the priority of its severity, and what has ended the least that is still shown.
    """

    topic: str
    priorities: Mapping[str, int]
    tags: tuple[str, ...] = ()
    button: Button | None = None
    program: str = ""

    def __call__(self, table: dict[str, Any], answer: AnyAnswer) -> object:
        is_begin = not isinstance(answer, HypotheticalAnswer) and state_of(answer) != "ended"
        found: dict[str, Any] = {
            "topic": self.topic,
            "message": cut(table["text"], NTFY_MOST, utf8_bytes),
            "title": cut(table["title"], NTFY_TITLE),
            "priority": self.priorities.get(table["severity"] or "", 3) if is_begin else 2,
        }
        if self.tags:
            found["tags"] = self.tags
        if table.get("link"):
            found["click"] = table["link"]
        if self.button is not None and is_begin and table["alarm_id"]:
            found["actions"] = [self._acknowledge(self.button, table["alarm_id"])]
        return found

    def _acknowledge(self, button: Button, alarm: str) -> object:
        program = f"?program={self.program}" if self.program else ""
        return {
            "action": "http",
            "label": "Acknowledge",
            "method": "POST",
            "url": f"{button.url.rstrip('/')}/alarms/{alarm}/acknowledge{program}",
            "headers": {"Authorization": f"Bearer {button.token}", "Content-Type": "application/json"},
            "body": msgspec.json.encode({"comment": button.comment}).decode(),
            "clear": True,
        }
