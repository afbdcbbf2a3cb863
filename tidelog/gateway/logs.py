"""What a gateway says of itself: lines of text or of JSON on standard error, not more often than told."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TextIO

import msgspec

from tidelog.connectors.sinks.dead_letters import text_of
from tidelog.gateway.file.settings import LogSettings
from tidelog.plans.diagnostics.visible import visible
from tidelog.runtime.ports.interfaces import Rejected

MAX_KINDS = 1000
"""So many kinds of messages are counted; then counting begins anew."""


class RateLimit(logging.Filter):
    """Lets a message pass so many times within a span; with the next span it tells how many it held back.

    Messages are of one kind if their texts are, before what they name is filled in.
    """

    def __init__(self, burst: int, every: float, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._burst, self._every, self._now = burst, every, now
        self._spans: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = f"{record.name}:{record.levelno}:{record.msg}"
        now = self._now()
        began, count = self._spans.get(kind, (now, 0))
        if now - began >= self._every:
            held, began, count = count - self._burst, now, 0
            if held > 0:
                record.msg = f"{record.getMessage()} ({held} more of these were held back)"
                record.args = None
        if len(self._spans) >= MAX_KINDS:
            self._spans.clear()
        self._spans[kind] = (began, count + 1)
        return count < self._burst


class TextFormatter(logging.Formatter):
    """`2026-11-22T14:03:05Z warning: mqtt://broker:1883: connection lost`; under systemd, which has the time, without it."""

    def __init__(self, *, with_time: bool = True) -> None:
        super().__init__()
        self._with_time = with_time

    def format(self, record: logging.LogRecord) -> str:
        begin = f"{_time(record)} " if self._with_time else ""
        return visible(f"{begin}{record.levelname.lower()}: {_text(record)}")


class JsonFormatter(logging.Formatter):
    """`{"time":"2026-11-22T14:03:05Z","level":"warning","message":"…"}`"""

    def format(self, record: logging.LogRecord) -> str:
        return msgspec.json.encode(
            {"time": _time(record), "level": record.levelname.lower(), "message": _text(record)}
        ).decode()


def _text(record: logging.LogRecord) -> str:
    """What is said; of a library, behind its name."""
    is_own = record.name.partition(".")[0] == "tidelog"
    text = record.getMessage().rstrip("\n")
    text = text if is_own else f"{record.name}: {text}"
    return f"{text}: {record.exc_info[1]}" if record.exc_info and record.exc_info[1] else text


def _time(record: logging.LogRecord) -> str:
    return _moment(record.created)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def letter_line(item: Rejected) -> str:
    """A line for a file of records that could not be used: `{"time":…,"place":…,"reason":…,"raw":…}`."""
    return msgspec.json.encode(_letter(item)).decode()


def letter_logged(item: Rejected, *, as_json: bool, with_time: bool = True) -> str:
    """The same in the form of the log."""
    if as_json:
        return msgspec.json.encode({**_letter(item), "level": "warning", "message": "dead letter"}).decode()
    begin = f"{_moment(time.time())} " if with_time else ""
    return visible(f"{begin}dead letter of {item.place}: {item.reason}; it reads {text_of(item)}")


def _letter(item: Rejected) -> dict[str, str]:
    return {"time": _moment(time.time()), "place": item.place, "reason": item.reason, "raw": text_of(item)}


class _Handler(logging.StreamHandler[TextIO]):
    """The handler of a gateway."""


def set_up(settings: LogSettings, *, under_systemd: bool = False) -> logging.Handler:
    """Let what is logged go to standard error as the file says, by libraries and as warnings of Python, too.

    Of libraries only warnings and errors. Returns the handler, which takes the place of an earlier one.
    """
    handler = _Handler()
    handler.setFormatter(JsonFormatter() if settings.format == "json" else TextFormatter(with_time=not under_systemd))
    handler.addFilter(RateLimit(settings.burst, settings.every))
    root = logging.getLogger()
    for earlier in [one for one in root.handlers if isinstance(one, _Handler)]:
        root.removeHandler(earlier)
    root.addHandler(handler)
    logging.captureWarnings(True)
    logging.getLogger("tidelog").setLevel(settings.level.upper())
    return handler
