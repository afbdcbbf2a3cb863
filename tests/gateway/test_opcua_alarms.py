"""Alarms by OPC UA, as a client sees them: events of conditions, methods that act, and who may call them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asyncua import Client, ua

import tidelog
from brokers import free_port
from tidelog.connectors.field.opcua.server import NAMESPACE, AlarmServer
from tidelog.connectors.http.settings import UserSettings
from tidelog.plans.data.actions import Action, action_record
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import SpecError

PROGRAM = """
timeline integer, unit 1 s.
input hot(room: text).
alarm too_warm(room: text), priority high, text "Room {room} is too warm", acknowledge, shelve at most 8 h.
too_warm(R) :- hot(R).
"""
USERS = (
    UserSettings("anna", "operate", "annas-token-123456"),
    UserSettings("otto", "configure", "ottos-token-123456"),
    UserSettings("board", "view", "boards-token-12345"),
)
ACKNOWLEDGE = ua.ObjectIds.AcknowledgeableConditionType_Acknowledge
SHELVE = ua.ObjectIds.ShelvedStateMachineType_TimedShelve
REMOVE = ua.ObjectIds.AlarmConditionType_RemoveFromService2


class Plant:
    """A session with alarms, and the server that shows them."""

    def __init__(self) -> None:
        plan = tidelog.compile(PROGRAM, desk=True)
        self.session, self.now = tidelog.Session(plan, held=True), 0
        self.server = AlarmServer(f"127.0.0.1:{free_port()}", USERS, self.act)
        self.done: list[Action] = []

    async def act(self, action: Action) -> None:
        plan = self.session.plan
        self.session.push_records([action_record(plan.schema, TimeReader(plan.timeline), action, self.now)])
        self.done.append(action)
        await self.advance()

    async def advance(self) -> None:
        self.session.advance(self.now)
        self.now += 1
        await self.server.show(self.session.open_alarms())

    async def hot(self, begin: int, end: int) -> None:
        self.session.push("hot", ["north"], interval=f"[{begin},{end}]")
        self.now = begin
        await self.advance()


class Operator:
    """A client: it has the events that came, the last one last."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events: list[Any] = []
        self.subscription: Any = None
        self._came = asyncio.Event()

    def event_notification(self, event: Any) -> None:
        self.events.append(event)
        self._came.set()

    async def told(self, count: int) -> Any:
        """The last event, once so many have come."""
        async with asyncio.timeout(30):
            while len(self.events) < count:
                self._came.clear()
                await self._came.wait()
        return self.events[-1]

    async def told_of(self, alarm: str) -> Any:
        """The last event of an alarm, once there is one."""
        async with asyncio.timeout(30):
            while not (found := [event for event in self.events if getattr(event, "ConditionName", "") == alarm]):
                self._came.clear()
                await self._came.wait()
        return found[-1]

    async def refresh(self) -> None:
        """Ask for what is open."""
        request = ua.CallMethodRequest(
            ua.NodeId(ua.ObjectIds.ConditionType),
            ua.NodeId(ua.ObjectIds.ConditionType_ConditionRefresh),
            [ua.Variant(self.subscription.subscription_id, ua.VariantType.UInt32)],
        )
        assert (await self.client.uaclient.call([request]))[0].StatusCode.is_good()

    async def call(self, method: int, *arguments: Any) -> str:
        """Call a method on the condition of the last event; the name of the status."""
        request = ua.CallMethodRequest(self.events[-1].NodeId, ua.NodeId(method), [ua.Variant(item) for item in arguments])
        return (await self.client.uaclient.call([request]))[0].StatusCode.name


@asynccontextmanager
async def operator(plant: Plant, name: str = "anna") -> AsyncIterator[Operator]:
    """Somebody who looks."""
    client = Client(plant.server.url)
    client.set_user(name)
    client.set_password(next(user.token for user in USERS if user.name == name))
    async with client:
        one = Operator(client)
        one.subscription = await client.create_subscription(50, one)
        await one.subscription.subscribe_alarms_and_conditions(client.nodes.server, [ua.ObjectIds.AlarmConditionType])
        yield one


def run(test: Callable[[Plant], Awaitable[None]]) -> None:
    """Run a test with a server."""

    async def within() -> None:
        plant = Plant()
        async with plant.server:
            await test(plant)

    asyncio.run(within())


def states(event: Any) -> tuple[bool, bool, str, bool]:
    """Whether it is active, and acknowledged; how it is shelved; and whether the client is to keep it."""
    found = [getattr(event, f"{name}/Id") for name in ("ActiveState", "AckedState")]
    return found[0], found[1], getattr(event, "ShelvingState/CurrentState").Text, event.Retain


def test_an_alarm_begins_is_taken_on_and_ends() -> None:
    """Its events say so, and the acknowledgement has a name, a comment, and whence it came."""

    async def test(plant: Plant) -> None:
        async with operator(plant) as anna:
            await plant.hot(10, 20)
            event = await anna.told(1)
            assert (event.Message.Text, event.Severity, event.ConditionName) == ("Room north is too warm", 700, "too_warm")
            assert states(event)[:2] == (True, False)
            assert getattr(event, "ActiveState/TransitionTime").timestamp() == 10
            assert await anna.call(ACKNOWLEDGE, b"another", ua.LocalizedText("")) == ("BadEventIdUnknown")
            assert await anna.call(ACKNOWLEDGE, event.EventId, ua.LocalizedText("on my way")) == "Good"
            event = await anna.told(2)
            assert (states(event)[:2], event.Comment.Text, event.ClientUserId) == ((True, True), "on my way", "anna")
            assert [(each.name, each.who, each.via) for each in plant.done] == [("acknowledge", "anna", "opcua")]
            again = await anna.call(ACKNOWLEDGE, event.EventId, ua.LocalizedText(""))
            assert again == "BadConditionBranchAlreadyAcked"
            plant.now = 30
            await plant.advance()
            event = await anna.told(3)
            assert (states(event)[:2], event.Retain) == ((False, True), False)
            folder = anna.client.get_node(ua.NodeId("alarms", await anna.client.get_namespace_index(NAMESPACE)))
            assert await folder.get_children() == []

    run(test)


def test_what_ended_unseen_waits() -> None:
    """An alarm that has ended, and nobody has acknowledged, is inactive, unacknowledged and retained."""

    async def test(plant: Plant) -> None:
        async with operator(plant) as anna:
            await plant.hot(10, 12)
            await anna.told(1)
            plant.now = 15
            await plant.advance()
            event = await anna.told(2)
            assert states(event) == (False, False, "Unshelved", True)

    run(test)


def test_shelving_and_service() -> None:
    """A shelf lasts as long as it may; who operates may not take out of service, who configures may; who views nothing."""

    async def test(plant: Plant) -> None:
        async with operator(plant) as anna, operator(plant, "otto") as otto, operator(plant, "board") as board:
            await plant.hot(10, 900)
            await anna.told(1)
            await otto.told(1)
            await board.told(1)
            assert await board.call(SHELVE, 60_000.0) == "BadUserAccessDenied"
            assert await anna.call(SHELVE, 9 * 3_600_000.0) == "BadShelvingTimeOutOfRange"
            assert await anna.call(SHELVE, 60_000.0) == "Good"
            event = await anna.told(2)
            assert states(event)[2] == "TimedShelved"
            assert event.SuppressedOrShelved
            assert await anna.call(ua.ObjectIds.ShelvedStateMachineType_Unshelve) == "Good"
            assert states(await anna.told(3))[2] == "Unshelved"
            assert await anna.call(REMOVE, ua.LocalizedText("no")) == "BadUserAccessDenied"
            assert await otto.call(REMOVE, ua.LocalizedText("a new sensor")) == "Good"
            event = await anna.told(4)
            assert (getattr(event, "OutOfServiceState/Id"), event.ClientUserId) == (True, "otto")

    run(test)


def test_a_client_that_comes_later_refreshes() -> None:
    """ConditionRefresh tells of what is open, between its own two events."""

    async def test(plant: Plant) -> None:
        await plant.hot(10, 900)
        async with operator(plant) as anna:
            await anna.refresh()
            await anna.told(1)
            assert [event.Message.Text for event in anna.events if hasattr(event, "ConditionName")] == [
                "Room north is too warm"
            ]

    run(test)


def test_where_it_ends() -> None:
    """What the library's server does not do, as docs/howto/opcua-alarms.md tells: mend the page where this fails."""

    async def test(plant: Plant) -> None:
        async with operator(plant) as anna:
            wide = Operator(anna.client)
            subscription = await anna.client.create_subscription(50, wide)
            filter = ua.EventFilter()
            filter.SelectClauses = [
                ua.SimpleAttributeOperand(
                    TypeDefinitionId=ua.NodeId(ua.ObjectIds.BaseEventType),
                    BrowsePath=[ua.QualifiedName("Message")],
                    AttributeId=ua.AttributeIds.Value,
                )
            ]
            kind = ua.LiteralOperand(Value=ua.Variant(ua.NodeId(ua.ObjectIds.ConditionType)))
            element = ua.ContentFilterElement()
            element.FilterOperator, element.FilterOperands = ua.FilterOperator.OfType, [kind]
            filter.WhereClause.Elements = [element]
            await subscription.subscribe_events(anna.client.nodes.server, evfilter=filter)
            await plant.hot(10, 900)
            event = await anna.told(1)
            assert wide.events == []
            once = ua.ObjectIds.ShelvedStateMachineType_OneShotShelve
            assert await anna.call(once) == "BadNothingToDo"
            confirm = ua.ObjectIds.AcknowledgeableConditionType_Confirm
            assert await anna.call(confirm, event.EventId, ua.LocalizedText("")) == "BadNothingToDo"

    run(test)


def test_who_is_let_in() -> None:
    """A wrong token, and nobody at all, are refused; an address beyond this machine is an error."""

    async def test(plant: Plant) -> None:
        for name, password in (("anna", "wrong"), (None, None), ("nobody", "")):
            client = Client(plant.server.url)
            if name is not None:
                client.set_user(name)
                client.set_password(password)
            with pytest.raises(ua.UaError):
                await client.connect()

    run(test)
    for address, users in (("0.0.0.0:4840", USERS), ("127.0.0.1:4840", ())):
        with pytest.raises(SpecError):
            AlarmServer(address, users, Plant().act)
