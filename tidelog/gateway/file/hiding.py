"""Hides what may be a secret in the text of a gateway's file, before a message shows a line of it."""

from __future__ import annotations

import re

from tidelog.plans.diagnostics.suggestions import suggest

_SECRETS = ("password", "passphrase", "token", "secret", "authorization")
"""What keys are called that hold secrets, or nearly called."""
_OTHERS = ("passwd", "api_key", "apikey", "private_key")
"""What else such keys have in their names; `key` alone is that of a file."""
_KEY = re.compile(r"""([A-Za-z_][\w-]*)["']?[ \t]*=[ \t]*""")
_PLACE = re.compile(r"""\{\s*(?:env|file|credential)\s*=\s*(?:"[^"\n]*"|'[^'\n]*')\s*\}""")
_VALUE = re.compile(r'"""(?:.*?"""|.*)' r"|'''(?:.*?'''|.*)" r"|\[[^\]\n]*\n[^\]]*|[^\n]*", re.DOTALL)
_USER = re.compile(r"(?<=//)[^/@\s\"']*:[^/@\s\"']*(?=@)")


def hide_secrets(text: str) -> str:
    """The text with `*` in place of each character of a secret that stands in it, though none should.

    A secret is the value of a key that is called, or nearly called, like one; where it says where the secret is, it stays.
    All other places stay as they are. It need not be TOML.

    >>> hide_secrets('pasword = "a b" # me')
    'pasword = ** ** * **'
    >>> hide_secrets('password = { env = "NAME" }, url = "mqtt://u:pw@host"')
    'password = { env = "NAME" }, url = "mqtt://****@host"'
    """
    for key in _KEY.finditer(text):
        if is_secret(key[1]) and not _PLACE.match(text, key.end()):
            value = _VALUE.match(text, key.end())
            end = key.end() if value is None else value.end()
            text = text[: key.end()] + _stars(text[key.end() : end]) + text[end:]
    return _USER.sub(lambda user: _stars(user[0]), text)


def is_secret(name: str) -> bool:
    """Whether a key is called, or nearly called, like a secret."""
    name = name.lower().replace("-", "_")
    return any(word in name for word in (*_SECRETS, *_OTHERS)) or bool(suggest(name, _SECRETS))


def _stars(text: str) -> str:
    return re.sub(r"\S", "*", text)
