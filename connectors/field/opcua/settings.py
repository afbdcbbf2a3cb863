"""What a gateway's file may say of an OPC UA source, and of each node that it listens to. Nothing here loads asyncua."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from tidelog.connectors.transport.bounds import Count, NotNegative, Positive
from tidelog.connectors.transport.secret import Secret
from tidelog.plans.diagnostics.errors import SpecError

POLICIES: Final = ("Basic256Sha256", "Aes128Sha256RsaOaep", "Aes256Sha256RsaPss")
MODES: Final = ("Sign", "SignAndEncrypt")
_PARTS: Final = (4, 5)
"""With the server's certificate, or without."""


class NodeSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A node of a server, such as `ns=2;s=Boiler.Temperature`. `name` is the topic of its messages.

    What it says of its sampling, its queue and its deadband counts in place of what the source says.
    """

    name: str
    id: str
    sampling: NotNegative | None = None
    queue: Count | None = None
    deadband: NotNegative | None = None


class OpcUaAccess(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How a server is reached, and who one is."""

    url: str
    user: str = ""
    password: Secret | None = None
    security: str = ""
    """Policy, mode, certificate and key of the client, and, where it is to be this one, the server's certificate:
    `Basic256Sha256,SignAndEncrypt,client.der,client.pem,server.der`."""
    user_certificate: str = ""
    user_key: str = ""
    """The certificate and the key of the user, in place of a name and a password."""
    timeout: Positive = 4.0
    """For how many seconds an answer is waited for."""

    def check(self) -> None:
        """SpecError for security that is none, and for half of a user's certificate."""
        if bool(self.user_certificate) != bool(self.user_key):
            raise SpecError("`user_certificate` and `user_key` belong together")
        if not self.security:
            return
        parts = [part.strip() for part in self.security.split(",")]
        if len(parts) not in _PARTS or not all(parts) or parts[0] not in POLICIES or parts[1] not in MODES:
            known = (
                f"a policy ({', '.join(POLICIES)}), a mode ({', '.join(MODES)}), and the files of a certificate and its key"
            )
            example = "`Basic256Sha256,SignAndEncrypt,client.der,client.pem`"
            raise SpecError(f"`security` is {known}, such as {example}, got `{self.security}`")


class OpcUaSettings(OpcUaAccess, frozen=True, kw_only=True):
    """How a server is listened to."""

    subscribe: bool = True
    """Whether the server is asked to tell what changes. Without, it is asked for all values, `every` so many seconds."""
    every: Positive = 1.0
    """How many seconds lie between two messages of the server, at least."""
    sampling: NotNegative | None = None
    """How many seconds lie between two looks of the server at a value; as `every`, unless told otherwise."""
    queue: Count = 10
    """How many values of a node the server keeps until its next message."""
    deadband: NotNegative = 0.0
    """By how much a value has to change until it is told."""
    deadband_type: Literal["absolute", "percent"] = "absolute"
    """Whether the deadband is in the value's own unit, or in percent of the range that the server knows of it."""
    repeat: NotNegative = 60.0
    """After how many seconds a value that has not changed is told again; 0 for never."""
    keep: Positive = 300.0
    """For how many seconds the server is asked to keep what changes while the gateway is away."""
    timestamps: Literal["source", "server", "arrival"] = "source"
    """When a value is of: what its source says, its server, or when it came."""
