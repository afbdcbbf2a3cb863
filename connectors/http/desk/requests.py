"""`GET /alarms`, its history and figures, and `POST /alarms/ID/ACTION`: what people see of alarms, and do with them."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tidelog.connectors.http.desk.acting import act
from tidelog.connectors.http.desk.figures import FiguresOf
from tidelog.connectors.http.requests.access import Access
from tidelog.connectors.http.requests.reading import read_body
from tidelog.connectors.http.settings import HttpSettings
from tidelog.connectors.http.watching.state import moment_of
from tidelog.connectors.http.watching.watch import Watch
from tidelog.plans.alarms.figures import DAY, Window, length_of_second
from tidelog.plans.data.actions import Action
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.declared.alarms import ACTIONS, ActionName

AT_ONCE: Final = 1_000
"""How many alarms, or entries, one answer has unless told otherwise (`?size=`)."""
MOST_AT_ONCE: Final = 10_000
_BODY: Final = 16 << 10
_RETRY: Final = {"retry-after": "1"}


class _Told(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an action."""

    who: str = ""
    comment: str = ""
    lasting: str | int | float | None = msgspec.field(name="for", default=None)


_read = msgspec.json.Decoder(_Told).decode


class DeskRequests:
    """Answers what is asked of a desk, and takes what people do."""

    def __init__(self, settings: HttpSettings, access: Access) -> None:
        self._settings, self._access = settings, access

    # --- what is asked --------------------------------------------------------------------------------------------------

    async def alarms(self, request: Request, watch: Watch) -> Response:
        """The open alarms, the most urgent ones first; of these, with `?state=`, `?priority=` and `?alarm=`, those so.

        304 for who has seen these already, and says so by `If-None-Match`.
        """
        desk = watch.desk
        if not desk.has_alarms:
            return _no_alarms()
        present = moment_of(watch)
        tag = f'"{desk.tag(present)}"'
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers={"etag": tag})
        asked = request.query_params
        items = [
            item
            for item in desk.open_alarms(present)
            if _is_asked(asked.getlist("state"), item.state)
            and _is_asked(asked.getlist("priority"), item.priority)
            and _is_asked(asked.getlist("alarm"), item.alarm)
        ]
        first, size = _page(asked)
        return _json(
            {
                "count": len(items),
                "first": first,
                "tag": desk.tag(present),
                "declared": desk.declared(),
                "alarms": desk.objects(items[first : first + size]),
            },
            {"etag": tag},
        )

    async def history(self, request: Request, watch: Watch) -> Response:
        """What became of alarms, the last first: begins, ends, and what people did; with `?id=`, of one."""
        desk = watch.desk
        if not desk.has_alarms:
            return _no_alarms()
        identity = request.query_params.get("id")
        first, size = _page(request.query_params)
        key = None if identity is None else desk.history.key_of(identity)
        found = [entry for entry in reversed(desk.history) if identity is None or (entry.alarm, entry.args) == key]
        found.sort(key=lambda entry: -entry.at)  # an end is known later than what happened meanwhile
        return _json(
            {"count": len(found), "first": first, "entries": [desk.entry_object(e) for e in found[first : first + size]]}
        )

    async def figures(self, request: Request, watch: Watch) -> Response:
        """Key figures of the last day, or `?last=7 d`, before `?until=`, or from `?since=` on, for so many `?operators=`."""
        desk, asked = watch.desk, request.query_params
        if not desk.has_alarms:
            return _no_alarms()
        operators = _number(asked, "operators", 1)
        try:
            window = _window(asked, watch)
        except DataError as error:
            return JSONResponse({"error": error.reason}, 400)
        if not operators or window.since >= window.until:
            return JSONResponse({"error": "the figures need an operator at least, and `since` before `until`"}, 400)
        return _json(FiguresOf(desk, window, operators).object())

    # --- what is done ---------------------------------------------------------------------------------------------------

    async def act(self, request: Request, watch: Watch) -> Response:
        """Do something with an alarm: 200 once it is taken, and stored where the run is durable.

        400 for what cannot be, 404 for an alarm that is not open, 409 for a name that is not who asks, 429 and 503.
        """
        name = request.path_params["action"]
        if name not in ACTIONS:
            return JSONResponse({"error": f"there is no action `{name}`", "actions": list(ACTIONS)}, 404)
        if not watch.desk.has_alarms:
            return _no_alarms()
        body, is_whole = await read_body(request, _BODY, self._settings.body_seconds)
        if not is_whole:
            return JSONResponse({"error": f"the body did not come whole, or has more than {_BODY} bytes"}, 413)
        try:
            told = _read(body or b"{}")
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return JSONResponse({"error": f"the body is no action: {error}"}, 400)
        known = self._access.user(request.headers, request.cookies)
        if known is not None and known.name:
            if told.who not in ("", known.name):
                return JSONResponse({"error": f"the token is that of `{known.name}`, not of `{told.who[:100]}`"}, 409)
            told.who = known.name
        return await self._act(request, watch, name, told)

    async def _act(self, request: Request, watch: Watch, name: ActionName, told: _Told) -> Response:
        desk = watch.desk
        found = desk.find(request.path_params["id"], moment_of(watch))
        if found is None:
            return JSONResponse({"error": "no such alarm is open"}, 404)
        client = "" if request.client is None else request.client.host
        via = f"http {client}".rstrip()
        refusal = await act(watch, found, Action(name, *found, told.who, told.comment, via, told.lasting))
        if refusal is not None:
            return JSONResponse({"error": refusal.reason}, refusal.status, _RETRY if refusal.again else None)
        now = desk.get(request.path_params["id"], moment_of(watch))
        return _json({"done": name, "alarm": None if now is None else desk.object(now)})


def _window(asked: Mapping[str, str], watch: Watch) -> Window:
    """The stretch of time that is asked for; DataError for what is no time."""
    timeline = watch.plan.timeline
    times, second = TimeReader(timeline), length_of_second(timeline)
    until = times.read_point(asked["until"]) if "until" in asked else moment_of(watch) + 1
    if "since" in asked:
        return Window(times.read_point(asked["since"]), until, second)
    return Window(until - (times.duration(asked["last"]) if "last" in asked else ceil(DAY * second)), until, second)


def _is_asked(wanted: list[str], value: str) -> bool:
    return not wanted or value in wanted


def _page(asked: Mapping[str, str]) -> tuple[int, int]:
    return _number(asked, "first", 0), max(1, min(MOST_AT_ONCE, _number(asked, "size", AT_ONCE)))


def _number(asked: Mapping[str, str], name: str, usual: int) -> int:
    text = asked.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else usual


def _no_alarms() -> Response:
    hint = 'declare one, such as `alarm hot(room: text), priority high, text "{room} is hot", acknowledge`'
    return JSONResponse({"error": "the program declares no alarms", "hint": hint}, 404)


def _json(found: Any, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(found), headers=headers, media_type="application/json")
