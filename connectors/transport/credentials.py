"""What servers and their clients know each other by: tokens, and certificates for TLS."""

from __future__ import annotations

import ssl

from tidelog.plans.diagnostics.errors import SpecError

MIN_TOKEN, MAX_TOKEN = 16, 4096
"""How many bytes a token has."""


def load_token(path: str) -> str:
    """The token in a file, without the white space around it; SpecError where there is none that can be used."""
    try:
        with open(path, "rb") as file:
            token = file.read(MAX_TOKEN + 1).strip()
    except OSError as error:
        raise SpecError(f"cannot read `{path}`: {error.strerror}") from None
    return check_token(token.decode("latin-1"), f"`{path}`")


def check_token(token: str, where: str = "the secret") -> str:
    """The token itself; SpecError where it is none that can be used, which says where it stands, and not what it is."""
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN or not (token.isascii() and token.isprintable()):
        raise SpecError(f"{where} holds no token: a line of {MIN_TOKEN} to {MAX_TOKEN} ASCII characters is one")
    return token


def load_certificate(certificate: str, key: str) -> ssl.SSLContext:
    """What a server needs for TLS, from a certificate and its key in PEM; SpecError where they cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")  # none is asked for on a terminal
    except OSError as error:  # ssl.SSLError is one
        reason = error.strerror if not isinstance(error, ssl.SSLError) else f"no certificate with its key ({error.reason})"
        raise SpecError(f"cannot use `{certificate}` and `{key}`: {reason}") from None
    return context


def trusting(path: str | None) -> ssl.SSLContext:
    """Whose certificates a client trusts: those in a file (PEM), or the system's. SpecError where they cannot be read."""
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        raise SpecError(f"cannot read the certificates in `{path}`: {error.strerror or error}") from None
