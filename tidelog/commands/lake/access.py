"""How gateways are asked for their outboxes: the options of the commands of `tidelog spark` that read from them."""

from __future__ import annotations

import argparse
import os

from tidelog.connectors.lake.gateways.origins import Access
from tidelog.connectors.transport.credentials import load_token


def add_access_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that say what gateways want."""
    parser.add_argument("--token-file", metavar="FILE", help="a file with the token that gateways want")
    parser.add_argument("--tls-ca", metavar="FILE", help="the certificates to trust, in place of the system's")


def access_of(options: argparse.Namespace) -> Access:
    """What the options say; SpecError where the token cannot be read."""
    token = None if options.token_file is None else load_token(options.token_file)
    return Access(token, None if options.tls_ca is None else os.path.abspath(options.tls_ca))
