"""One subscription of a server: its nodes, its numbered notifications, and the receipts for them.

The server keeps a notification until it has a receipt for it, and what changes while nobody asks, for a while. So whoever
comes back, also in a later run, takes the subscription over, and asks again for what it has no receipt for. Where the server
has forgotten it, it is made anew, which is told: what changed meanwhile is not known.

The library's own loop of requests gives receipts before anything is stored; so requests are sent here.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from asyncua import ua
from asyncua.ua.attribute_ids import AttributeIds
from asyncua.ua.status_codes import StatusCodes
from asyncua.ua.uaerrors import BadTimeout, UaError, UaStatusCodeError

from tidelog.connectors.field.opcua.connecting import CLIENT_ERRORS
from tidelog.connectors.field.opcua.mailbox import Group, Reading
from tidelog.connectors.field.opcua.settings import NodeSettings, OpcUaSettings
from tidelog.connectors.field.opcua.values import NodeValues
from tidelog.connectors.transport.links import Link

logger = logging.getLogger("tidelog")

MOST_UNACKNOWLEDGED: Final = 32
"""With so many notifications without receipt nothing more is asked for: the server keeps what changes, as far as its queues
reach."""
MOST_AT_ONCE: Final = 500
"""How many nodes one request is about."""
MOST_IN_NOTIFICATION: Final = 5_000
_KEEP_ALIVE: Final = 5.0
"""After so many seconds without news the server says that it is there."""
_LONG: Final = 24 * 3600.0
"""A request that waits for news has no answer for as long as nothing changes."""
_WITHOUT_FILTER: Final = {
    StatusCodes.BadMonitoredItemFilterUnsupported,
    StatusCodes.BadMonitoredItemFilterInvalid,
    StatusCodes.BadFilterNotAllowed,
    StatusCodes.BadDeadbandFilterInvalid,
}
Put = Callable[[Group], Awaitable[None]]


class Lost(ConnectionError):
    """The subscription is of no use any more: connect anew."""


class Subscription:
    """A subscription to nodes, on one connection. Used in asyncio's thread. `number` is what the server calls it."""

    def __init__(
        self, settings: OpcUaSettings, nodes: Sequence[NodeSettings], values: Sequence[NodeValues], put: Put, link: Link
    ) -> None:
        self._settings, self._nodes, self._values = settings, nodes, values
        self._put, self._link = put, link
        self._session: Any = None
        self.number = 0
        self.received = 0
        """The number of the last notification that came."""
        self._first = [True] * len(nodes)
        self._unacknowledged: set[int] = set()
        self._receipts: list[int] = []
        self._missed: list[int] = []
        self._released = asyncio.Event()
        self._has_caught_up = False
        self.is_unproven = False
        """Whether it was taken over, and has told nothing since: some servers say that they have done so, and have not."""

    # --- the connection -------------------------------------------------------------------------------------------------

    async def attach(
        self, session: Any, number: int, received: int, committed: int, *, takes_over: bool = True
    ) -> list[int]:
        """Take over the subscription of this number, or make a new one; returns which nodes cannot be subscribed to.

        Notifications up to `received` were handed over, and those up to `committed` count for good. UaError where the server
        has no subscriptions.
        """
        self._session, self._has_caught_up = session, False
        session.ensure_publish_loop = _nothing
        if number and takes_over and await self._take_over(number, received, committed):
            return []
        if number:
            logger.warning(
                "%s: the server has not kept what changed while nobody listened: it is not known", self._settings.url
            )
        return await self._create()

    async def _take_over(self, number: int, received: int, committed: int) -> bool:
        """Whether the server still has it. What it has sent, and has no receipt for, it sends again."""
        asked = ua.TransferSubscriptionsParameters()
        asked.SubscriptionIds, asked.SendInitialValues = [number], False
        self._link.requests += 1
        try:
            result = (await self._session.transfer_subscriptions(asked))[0]
        except UaStatusCodeError:
            self._link.errors += 1
            return False
        if not result.StatusCode.is_good():
            return False
        self.number, self.received, self.is_unproven = number, received, True
        self._first = [False] * len(self._nodes)
        kept = sorted(int(each) for each in result.AvailableSequenceNumbers or ())
        self._receipts = [each for each in kept if each <= committed]
        self._unacknowledged = {each for each in kept if committed < each <= received}
        self._missed = [each for each in kept if each > received]
        return True

    async def _create(self) -> list[int]:
        told, interval = self._settings, self._settings.every * 1000
        asked = ua.CreateSubscriptionParameters()
        asked.RequestedPublishingInterval = interval
        asked.RequestedMaxKeepAliveCount = max(1, math.ceil(_KEEP_ALIVE * 1000 / interval))
        asked.RequestedLifetimeCount = max(3 * asked.RequestedMaxKeepAliveCount, math.ceil(told.keep * 1000 / interval))
        asked.MaxNotificationsPerPublish, asked.PublishingEnabled = MOST_IN_NOTIFICATION, True
        self._link.requests += 1
        self.number, self.received = int((await self._session.create_subscription(asked, _nothing)).SubscriptionId), 0
        self._first = [True] * len(self._nodes)
        self._unacknowledged, self._receipts, self._missed = set(), [], []
        failed: dict[int, int] = {}
        for begin in range(0, len(self._nodes), MOST_AT_ONCE):
            failed |= await self._monitor(range(begin, min(begin + MOST_AT_ONCE, len(self._nodes))))
        unfiltered = [index for index, code in failed.items() if code in _WITHOUT_FILTER]
        if unfiltered:
            names = ", ".join(f"`{self._nodes[index].name}`" for index in unfiltered[:3])
            logger.warning("%s: the server takes no deadband for %s: all that changes is told", told.url, names)
            for index in unfiltered:
                del failed[index]
            failed |= await self._monitor(unfiltered, is_filtered=False)
        return sorted(failed)

    async def _monitor(self, indexes: Sequence[int], *, is_filtered: bool = True) -> dict[int, int]:
        """Let the server look at these nodes; returns those at which it does not, each with the code of its status."""
        failed: dict[int, int] = {}
        asked = ua.CreateMonitoredItemsParameters()
        asked.SubscriptionId, asked.TimestampsToReturn = self.number, ua.TimestampsToReturn.Both
        tried = []
        for index in indexes:
            try:
                asked.ItemsToCreate.append(self._item(index, is_filtered=is_filtered))
            except UaError:
                failed[index] = StatusCodes.BadNodeIdInvalid
            else:
                tried.append(index)
        if tried:
            self._link.requests += 1
            results = await self._session.create_monitored_items(asked)
            failed |= {
                index: result.StatusCode.value
                for index, result in zip(tried, results, strict=True)
                if not result.StatusCode.is_good()
            }
        return failed

    def _item(self, index: int, *, is_filtered: bool) -> Any:
        node, told = self._nodes[index], self._settings
        item = ua.MonitoredItemCreateRequest()
        item.ItemToMonitor.NodeId = ua.NodeId.from_string(node.id)
        item.ItemToMonitor.AttributeId = AttributeIds.Value
        item.MonitoringMode = ua.MonitoringMode.Reporting
        item.RequestedParameters.ClientHandle = index
        sampling = next(each for each in (node.sampling, told.sampling, told.every) if each is not None)
        item.RequestedParameters.SamplingInterval = sampling * 1000
        item.RequestedParameters.QueueSize = node.queue or told.queue
        item.RequestedParameters.DiscardOldest = True
        deadband = told.deadband if node.deadband is None else node.deadband
        if deadband and is_filtered:
            kinds = {"absolute": ua.DeadbandType.Absolute, "percent": ua.DeadbandType.Percent}
            found = ua.DataChangeFilter()
            found.Trigger, found.DeadbandType = ua.DataChangeTrigger.StatusValue, kinds[told.deadband_type]
            found.DeadbandValue = deadband
            item.RequestedParameters.Filter = found
        return item

    # --- notifications --------------------------------------------------------------------------------------------------

    def acknowledge(self, number: int, sequence: int) -> None:
        """All of this subscription up to this notification is taken for good."""
        if number == self.number:
            taken = {one for one in self._unacknowledged if one <= sequence}
            self._unacknowledged -= taken
            self._receipts += taken
            self._released.set()

    def look_again(self) -> None:
        """Tell anew once nothing waits at the server."""
        self._has_caught_up = False

    @property
    def is_full(self) -> bool:
        """Whether nothing more is asked for until there is a receipt."""
        return len(self._unacknowledged) >= MOST_UNACKNOWLEDGED

    async def listen(self) -> None:
        """Hand over what the server tells. It never ends; Lost, or what the library raises, where that is over."""
        for missed in self._missed:
            await self._again(missed)
        silence = 3 * max(_KEEP_ALIVE, self._settings.every) + self._settings.timeout
        while True:
            while self.is_full:
                self._released.clear()
                await self._released.wait()
            receipts, self._receipts = self._receipts, []
            self._link.requests += 1
            try:
                async with asyncio.timeout(silence):
                    response = await self._session.publish(
                        [ua.SubscriptionAcknowledgement(self.number, each) for each in receipts]
                    )
            except BadTimeout:
                continue
            except TimeoutError:
                self._link.errors += 1
                raise Lost(f"{self._settings.url}: nothing was heard for {silence:g} s") from None
            found = response.Parameters
            if found.SubscriptionId == self.number:
                self.is_unproven = False
                await self._take(found.NotificationMessage, has_more=bool(found.MoreNotifications))

    async def _take(self, message: Any, *, has_more: bool) -> None:
        sequence, data = int(message.SequenceNumber), message.NotificationData
        if not data:
            await self._caught_up()
            return
        if self.received and sequence > self.received + 1:
            for missing in range(self.received + 1, sequence):
                await self._again(missing)
        self.received = max(self.received, sequence)
        self._unacknowledged.add(sequence)
        readings = self._readings(data)
        is_last = not has_more and not self._has_caught_up
        self._has_caught_up = self._has_caught_up or is_last
        await self._put(Group(readings, self.number, sequence, is_last))

    async def _caught_up(self) -> None:
        if not self._has_caught_up:
            self._has_caught_up = True
            await self._put(Group((), self.number, self.received, is_last=True))

    async def _again(self, sequence: int) -> None:
        """Ask for a notification that was sent before."""
        self._link.requests += 1
        try:
            message = await self._session.republish(self.number, sequence)
        except UaStatusCodeError:
            message = None
        if message is None or not message.NotificationData:
            self._link.errors += 1
            logger.warning("%s: notification %d is lost: the server has not kept it", self._settings.url, sequence)
            return
        self.received = max(self.received, sequence)
        self._unacknowledged.add(sequence)
        await self._put(Group(self._readings(message.NotificationData), self.number, sequence))

    def _readings(self, data: Sequence[Any]) -> list[Reading]:
        readings: list[Reading] = []
        for each in data:
            if isinstance(each, ua.DataChangeNotification):
                for item in each.MonitoredItems:
                    index = item.ClientHandle
                    is_first, self._first[index] = self._first[index], False
                    readings += self._values[index].take(item.Value, is_first=is_first)
            elif isinstance(each, ua.StatusChangeNotification):
                raise Lost(f"{self._settings.url}: the server has ended the subscription: {each.Status.name}")
        return readings

    async def delete(self) -> None:
        """Let the server forget it."""
        if self._session is not None and self.number:
            try:
                await self._session.delete_subscriptions([self.number])
            except CLIENT_ERRORS:
                logger.debug("%s: the subscription could not be deleted", self._settings.url)


def _nothing(*_: object) -> None:
    """The library's own loop of requests does not run."""
