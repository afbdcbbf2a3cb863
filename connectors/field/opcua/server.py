"""A server of OPC UA for alarms: what is open as events of conditions, and the methods by which people act on them."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from asyncua.common.node import Node
from asyncua.crypto.permission_rules import User, UserRole
from asyncua.crypto.truststore import TrustStore
from asyncua.crypto.uacrypto import load_certificate
from asyncua.crypto.validator import CertificateValidator, CertificateValidatorOptions
from asyncua.server.event_generator import EventGenerator
from asyncua.server.internal_server import InternalServer
from asyncua.server.internal_session import InternalSession
from asyncua.server.server import Server
from asyncua.server.user_managers import UserManager
from asyncua.ua.object_ids import ObjectIds
from asyncua.ua.status_codes import StatusCodes
from asyncua.ua.uaprotocol_auto import CallMethodRequest, CallMethodResult, DeleteReferencesItem
from asyncua.ua.uatypes import LocalizedText, NodeId, SecurityPolicyType, StatusCode, Variant

from tidelog.connectors.field.opcua.conditions import Condition, describe, make_condition, make_node_id, new_condition
from tidelog.connectors.field.opcua.connecting import uri_of
from tidelog.connectors.http.requests.access import OPERATING
from tidelog.connectors.http.settings import ROLES, UserSettings
from tidelog.connectors.transport.addresses import parse_host_port
from tidelog.plans.alarms.desk import OpenAlarm, folded_as
from tidelog.plans.data.actions import Action
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.tree.declared.alarms import ActionName

Act = Callable[[Action], Awaitable[None]]
"""Does what somebody wants; DataError where it cannot be."""
NAMESPACE: Final = "urn:tidelog:alarms"
APPLICATION: Final = "urn:tidelog"
REFRESH_SEVERITY: Final = 100
SECURE: Final = [SecurityPolicyType.Basic256Sha256_SignAndEncrypt, SecurityPolicyType.Aes256Sha256RsaPss_SignAndEncrypt]
_METHODS: Final[dict[str, ActionName]] = {
    "AcknowledgeableConditionType_Acknowledge": "acknowledge",
    "ConditionType_AddComment": "comment",
    "ShelvedStateMachineType_TimedShelve": "shelve",
    "ShelvedStateMachineType_TimedShelve2": "shelve",
    "ShelvedStateMachineType_Unshelve": "unshelve",
    "ShelvedStateMachineType_Unshelve2": "unshelve",
    "AlarmConditionType_RemoveFromService": "remove",
    "AlarmConditionType_RemoveFromService2": "remove",
    "AlarmConditionType_PlaceInService": "restore",
    "AlarmConditionType_PlaceInService2": "restore",
}
"""What the methods of the standard's types do. A client calls them on a condition's node."""
make_status: Callable[..., StatusCode] = StatusCode
_caller: ContextVar[User | None] = ContextVar("caller", default=None)


class AlarmServer:
    """Serves alarms at `opc.tcp://HOST:PORT/`. Clients log in with a user's name, and the token as password. It runs on
    asyncio.

    Without a certificate it serves this machine alone, since tokens would be seen. With one, all is signed and encrypted;
    `clients`, where it is told, is a folder with the certificates of the clients that may connect. SpecError for an address
    that cannot be, or where there are no users.
    """

    def __init__(
        self,
        address: str,
        users: Sequence[UserSettings],
        act: Act,
        *,
        certificate: str = "",
        key: str = "",
        clients: str = "",
    ) -> None:
        place = parse_host_port(address)
        if bool(certificate) != bool(key):
            raise SpecError("`certificate` and `key` belong together")
        if not place.is_loopback and not certificate:
            raise SpecError(
                f"`{address}` lies beyond this machine: alarms are served there with a `certificate` and its `key` alone"
            )
        if clients and not certificate:
            raise SpecError("`clients` are told by their certificates, so the server needs a `certificate` and a `key`")
        if not users:
            raise SpecError("alarms by OPC UA need users: what people do has a name")
        self.url = f"opc.tcp://{address}/"
        self._users = {user.name: user for user in users}
        self._certificate, self._key, self._clients = certificate, key, clients
        self._act = act
        self._server: Server
        self._folder: Node
        self._events: EventGenerator
        self._space = 0
        self._showing = asyncio.Lock()
        self._shown: dict[str, tuple[OpenAlarm, Condition]] = {}

    async def __aenter__(self) -> AlarmServer:
        self._shown = {}
        inside = _Inside(user_manager=_Users(self._users))
        inside.bind_condition_methods = REFRESH_SEVERITY
        self._server = server = Server(iserver=inside)
        await server.init()
        server.set_endpoint(self.url)
        server.set_server_name("tidelog")
        await self._secure(server)
        self._space = await server.register_namespace(NAMESPACE)
        self._folder = await server.nodes.objects.add_object(make_node_id("alarms", self._space), "Alarms")
        self._events = EventGenerator(inside.isession)
        await self._events.init(make_condition(), add_generates_event=False)
        for method, action in _METHODS.items():
            server.link_method(server.get_node(make_node_id(getattr(ObjectIds, method))), self._method(action))
        await server.start()
        return self

    async def _secure(self, server: Server) -> None:
        """As the certificate says; SpecError where it cannot be read."""
        if not self._certificate:
            server.set_security_policy([SecurityPolicyType.NoSecurity])
            return
        try:
            certificate = await load_certificate(self._certificate)
            await server.load_certificate(self._certificate)
            await server.load_private_key(self._key)
        except (OSError, ValueError) as error:
            raise SpecError(f"the certificate `{self._certificate}`, or its key, cannot be read: {error}") from None
        await server.set_application_uri(uri_of(certificate) or APPLICATION)
        server.set_security_policy(SECURE)
        if self._clients:
            store = TrustStore([Path(self._clients)], [])
            await store.load()
            kinds = CertificateValidatorOptions.TRUSTED_VALIDATION | CertificateValidatorOptions.PEER_CLIENT
            server.set_certificate_validator(CertificateValidator(kinds, store))

    async def __aexit__(self, *exc: object) -> None:
        await self._server.stop()

    async def show(self, alarms: Sequence[OpenAlarm]) -> None:
        """These alarms are open now: tell of each that has changed, and of each that is open no more."""
        now = {alarm.id: folded_as(alarm, None, 0) for alarm in alarms}  # conditions do not know of these
        async with self._showing:
            for identity in self._shown.keys() - now.keys():
                _, event = self._shown.pop(identity)
                await self._tell(event, None)
                await self._forget(event.NodeId)
            for identity, alarm in now.items():
                known = self._shown.get(identity)
                if known is None or known[0] != alarm:
                    event = await self._condition(alarm) if known is None else known[1]
                    self._shown[identity] = alarm, event
                    await self._tell(event, alarm)

    async def _condition(self, alarm: OpenAlarm) -> Condition:
        node = await self._folder.add_object(make_node_id(alarm.id, self._space), alarm.text)
        return new_condition(node.nodeid, alarm)

    async def _forget(self, condition: NodeId) -> None:
        """Take a condition's node away, with the one reference to it: the library looks for others in all nodes."""
        parameters = DeleteReferencesItem(
            SourceNodeId=self._folder.nodeid,
            ReferenceTypeId=make_node_id(ObjectIds.HasComponent),
            TargetNodeId=condition,
        )
        await self._server.iserver.isession.delete_references([parameters])
        await self._server.get_node(condition).delete(delete_references=False)

    async def _tell(self, event: Condition, alarm: OpenAlarm | None) -> None:
        describe(event, alarm)
        self._events.event = event
        await self._events.trigger()

    # --- what people do -------------------------------------------------------------------------------------------------

    def _method(self, name: ActionName) -> Callable[..., Awaitable[StatusCode]]:
        async def call(condition: NodeId, *arguments: Variant) -> StatusCode:
            return make_status(await self._called(name, condition, [item.Value for item in arguments]))

        return call

    async def _called(self, name: ActionName, condition: NodeId, arguments: list[Any]) -> int:
        caller = _caller.get()
        user = self._users.get(caller.name or "") if caller is not None else None
        if user is None or ROLES.index(user.role) < ROLES.index("operate" if name in OPERATING else "configure"):
            return StatusCodes.BadUserAccessDenied
        if str(condition.Identifier) not in self._shown:
            return StatusCodes.BadNodeIdUnknown
        alarm, event = self._shown[str(condition.Identifier)]
        if name in ("acknowledge", "comment") and (not arguments or arguments.pop(0) != event.EventId.Value):
            return StatusCodes.BadEventIdUnknown
        if name == "acknowledge" and getattr(event, "AckedState/Id"):
            return StatusCodes.BadConditionBranchAlreadyAcked
        lasting = None
        if name == "shelve":
            if not arguments or not isinstance(arguments[0], float):
                return StatusCodes.BadArgumentsMissing
            lasting = timedelta(milliseconds=arguments.pop(0))
        said = arguments[0].Text or "" if arguments and isinstance(arguments[0], LocalizedText) else ""
        try:
            await self._act(Action(name, alarm.alarm, alarm.args, user.name, said, "opcua", lasting))
        except DataError:
            return StatusCodes.BadShelvingTimeOutOfRange if name == "shelve" else StatusCodes.BadInvalidArgument
        return StatusCodes.Good


class _Session(InternalSession):
    """A client's session, which says who calls: the library does not tell methods."""

    async def call(self, params: list[CallMethodRequest]) -> list[CallMethodResult]:
        _caller.set(self.user)
        return await super().call(params)


class _Inside(InternalServer):
    """A server with such sessions."""

    def create_session(self, name: str, user: User = User(), external: bool = False) -> InternalSession:  # noqa: B008 - as there
        return _Session(self, self.aspace, self.subscription_service, name, user=user, external=external)


class _Users(UserManager):
    """Whoever tells a user's token as password is that user."""

    def __init__(self, users: dict[str, UserSettings]) -> None:
        self._users = users

    def get_user(
        self, iserver: InternalServer, username: str | None = None, password: str | None = None, certificate: Any = None
    ) -> User | None:
        user = self._users.get(username or "")
        told = (password or "").encode()
        if user is None or not hmac.compare_digest(told, user.token.encode()):
            return None
        return User(role=UserRole.User, name=user.name)
