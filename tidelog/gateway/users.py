"""Who may see and answer a gateway's alarms, with tokens of their own."""

from __future__ import annotations

from pathlib import Path

from tidelog.connectors.http.settings import UserSettings
from tidelog.connectors.transport.credentials import check_token
from tidelog.gateway.file.settings import HttpFileSettings
from tidelog.plans.diagnostics.errors import SpecError


def users_of(http: HttpFileSettings, folder: Path) -> tuple[UserSettings, ...]:
    """The users of a file in `folder`; SpecError where one has no name, or two have the same name or token."""
    users = tuple(UserSettings(user.name, user.role, check_token(user.token.reveal(folder))) for user in http.user)
    tokens = [user.token for user in users] + ([] if http.token is None else [http.token.reveal(folder)])
    if len({user.name for user in users}) < len(users) or not all(user.name.strip() for user in users):
        raise SpecError("each `user` needs a name of his own")
    if len({*tokens}) < len(tokens):
        raise SpecError("two users have the same token: nobody could tell them apart")
    return users
