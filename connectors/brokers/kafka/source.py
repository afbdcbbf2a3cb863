"""Facts from the records of topics: all partitions, each from the offset behind which nothing is committed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import anyio.to_thread
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, TopicPartition

from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.transport.links import Link, LinkStatistics
from tidelog.plans.data.saved import Natural, Saved, read_saved
from tidelog.runtime.ports.interfaces import Batch, Rejected

logger = logging.getLogger("tidelog.kafka")

MAX_BATCH = 1024
"""How many records go into one batch."""
_WAIT = 0.1
"""For how many seconds a thread waits for a record: so long it takes, at most, to leave."""
_METADATA_SECONDS = 10.0
_LEAVE_SECONDS = 1.0
"""For how many seconds one waits, when leaving, for the cluster to hear how far is committed."""
_LOOK_AGAIN = 60.0
"""Every so many seconds one looks for partitions that are new."""
_BOUNDS = {
    "queued.min.messages": 10_000,
    "queued.max.messages.kbytes": 16_384,
    "fetch.wait.max.ms": 100,
    "fetch.queue.backoff.ms": 5,  # the library's own is a second, in which ten times as many would have been read
}
"""How much the library reads ahead."""
_PASSING = {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._TIMED_OUT}
"""Errors that come by themselves when the cluster is away, and go when it is back: the library connects anew."""

Record = Any
"""What the library gives; its types say that everything of it may be None, also where it cannot."""
Part = tuple[str, int]
"""A topic, and the number of a partition."""


class _Position(Saved):
    """For each topic, the offset of the record that each partition is read from next."""

    offsets: dict[str, dict[int, Natural]]


class KafkaSource:
    """Reads some topics, for ever. It takes no part in the division of a group: it is assigned all partitions itself.

    Where it stands is part of the run's own state. It is told to the cluster, too, once it is committed, under the group's
    name, so that the usual tools show how far it lags; it is never read from there. Each partition has a watermark of its
    own, unless the mapper divides by devices. Partitions without a known offset begin at `start`; ones that appear later at
    their first record. Records that the cluster has dropped before they were read are told as dead letters.
    """

    is_replayable = True

    def __init__(
        self, name: str, config: dict[str, Any], mapper: Mapper, topics: Sequence[str], *, start: str, by: str
    ) -> None:
        self.name = name
        self._config = {**config, **_BOUNDS, "enable.auto.commit": False, "auto.offset.reset": "error"}
        self._config["enable.partition.eof"] = True
        self._mapper, self._topics, self._start, self._is_divided = mapper, sorted(set(topics)), start, bool(by)
        self._consumer: Consumer | None = None
        self._next: dict[Part, int] = {}
        self._fetched: list[Record] = []
        self._letters: list[Rejected] = []
        self._looked = 0.0
        self._waits: dict[Part, int] = {}  # where partitions end that have not been read up to there
        self._seen: dict[Part, int] = {}  # up to where there is nothing more to read, whatever the last record's offset is
        self._must_look = True
        self._link = Link()
        self.on_messages: Callable[[Sequence[Message]], None] | None = None

    @property
    def is_behind(self) -> bool:
        """Whether it is away, or something that waited in the cluster has not been returned."""
        return not self.is_connected or self._must_look or bool(self._waits)

    @property
    def is_connected(self) -> bool:
        """Whether the cluster has answered, and no connection to it was lost since."""
        return self._link.is_up

    def link(self) -> LinkStatistics:
        """How the connection stands. A request is one for records that the library has, or for what the cluster has."""
        return self._link.statistics()

    def listen_again(self) -> None:
        """The process was not listening for a while: find out again what waits."""
        self._must_look = True

    async def __aenter__(self) -> KafkaSource:
        """Raises OSError where the cluster does not answer, or has no such topic."""
        self._fetched, self._letters = [], []
        self._consumer = Consumer(self._config, logger=logger)
        try:
            await anyio.to_thread.run_sync(self._assign, self._consumer)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._close()

    async def _close(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._link.down()
        if consumer is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_leave, consumer)

    async def receive(self) -> Batch | None:
        """The facts of the records that have come, once some have. It never ends."""
        if self._consumer is None:
            raise ValueError("a source is used within `async with`")
        while not (self._fetched or self._letters):
            await anyio.to_thread.run_sync(self._fetch, self._consumer)
        fetched, self._fetched = self._fetched, []
        letters, self._letters = self._letters, []
        return self._batch(fetched, letters)

    def resume(self, position: dict[str, Any]) -> None:
        """Go on at these offsets; SnapshotError for what tells none."""
        saved = read_saved(position, _Position)
        self._next = {(topic, number): at for topic, parts in saved.offsets.items() for number, at in parts.items()}

    def acknowledge(self, position: dict[str, Any]) -> None:
        """Tell the cluster how far it is committed, for those who look."""
        if self._consumer is None:
            return
        offsets = [
            TopicPartition(topic, int(n), at) for topic, parts in position["offsets"].items() for n, at in parts.items()
        ]
        with suppress(KafkaException):  # nothing rests on it
            self._consumer.commit(offsets=offsets, asynchronous=True)

    # --- in a worker thread -----------------------------------------------------------------------------------------------

    def _assign(self, consumer: Consumer) -> None:
        """Read all partitions that there are."""
        found = []
        for topic in self._topics:
            found += [(topic, number) for number in self._numbers(consumer, topic)]
        begins = [TopicPartition(*part, self._begin(consumer, part)) for part in found]
        self._seen = {}
        self._look_at_ends(consumer)  # before anything is fetched: an answer waits for a fetch that waits for a record
        consumer.assign(begins)
        self._looked = time.monotonic()
        self._link.up()

    def _look_at_ends(self, consumer: Consumer) -> None:
        """Note up to where something waits."""
        self._waits = {part: self._ends(consumer, part)[1] for part in self._next}
        self._must_look = False
        self._arrive()

    def _arrive(self) -> None:
        """Forget the partitions that have been read up to where something waited."""
        if self._waits:
            reached = {part: max(at, self._seen.get(part, 0)) for part, at in self._next.items()}
            self._waits = {part: end for part, end in self._waits.items() if reached[part] < end}

    def _numbers(self, consumer: Consumer, topic: str) -> Iterable[int]:
        self._link.requests += 1
        try:
            known = consumer.list_topics(topic, timeout=_METADATA_SECONDS).topics[topic]
        except KafkaException as error:
            self._link.errors += 1
            raise ConnectionError(f"the cluster does not answer: {error.args[0].str()}") from None
        if known.error is not None:
            raise ConnectionError(f"topic `{topic}`: {known.error.str()}")
        if not known.partitions:
            raise ConnectionError(f"topic `{topic}` has no partitions")
        return sorted(known.partitions)

    def _begin(self, consumer: Consumer, part: Part) -> int:
        """The offset that a partition is read from; where none was known, it is one from now on."""
        if part not in self._next:
            low, high = self._ends(consumer, part)
            self._next[part] = high if self._start == "latest" else low
        return self._next[part]

    def _ends(self, consumer: Consumer, part: Part) -> tuple[int, int]:
        """The offsets of a partition's first record, and of the one that comes next."""
        self._link.requests += 1
        try:
            found: tuple[int, int] = consumer.get_watermark_offsets(TopicPartition(*part), timeout=_METADATA_SECONDS)
        except KafkaException as error:
            self._link.errors += 1
            raise ConnectionError(f"the cluster does not answer: {error.args[0].str()}") from None
        return found

    def _fetch(self, consumer: Consumer) -> None:
        """Take what there is; wait a moment where there is nothing."""
        if time.monotonic() - self._looked > _LOOK_AGAIN:
            self._look_again(consumer)
        if self._must_look and self.is_connected:
            self._look_at_ends(consumer)
        self._link.requests += 1
        first = consumer.poll(_WAIT)
        records: list[Record] = [] if first is None else [first, *consumer.consume(MAX_BATCH - 1, 0)]
        for record in records:
            error = record.error()
            if error is None:
                self._fetched.append(record)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._seen[record.topic(), record.partition()] = record.offset()
                self._is_back()
            else:
                self._failed(consumer, record)

        if self._fetched:
            self._is_back()
        else:
            self._arrive()

    def _is_back(self) -> None:
        """The cluster has answered; where it was away, more may wait than was known."""
        if not self._link.is_up:
            self._must_look = True
            self._link.up()

    def _look_again(self, consumer: Consumer) -> None:
        self._looked = time.monotonic()
        with suppress(ConnectionError):
            for topic in self._topics:
                new = [(topic, n) for n in self._numbers(consumer, topic) if (topic, n) not in self._next]
                self._next |= dict.fromkeys(new, 0)
                consumer.incremental_assign([TopicPartition(*part, 0) for part in new])

    def _failed(self, consumer: Consumer, record: Record) -> None:
        """What the library tells in place of a record."""
        error, topic, number = record.error(), record.topic(), record.partition()
        if error.code() == KafkaError._AUTO_OFFSET_RESET and topic is not None and number is not None:
            low, high = self._ends(consumer, (topic, number))
            wanted = self._next[topic, number]
            begin = low if wanted < low else high
            text = (
                f"records {wanted} to {begin - 1} were dropped before they were read"
                if wanted < low
                else (f"it ends before record {wanted}, from where it was to be read: it was made anew")
            )
            self._next[topic, number] = begin
            self._letters.append(Rejected(f"{self.name}:{topic}:{number}", text, b""))
            consumer.incremental_unassign([TopicPartition(topic, number)])
            consumer.incremental_assign([TopicPartition(topic, number, begin)])
        elif error.code() in _PASSING:
            self._link.errors += 1
            self._link.down()
        else:
            self._link.errors += 1
            raise ConnectionError(error.str())

    # --- records to facts -------------------------------------------------------------------------------------------------

    def _batch(self, records: Sequence[Record], letters: list[Rejected]) -> Batch:
        """The facts of records, partition by partition: each stays in its order."""
        whole, places = Batch(rejected=letters), list[str]()
        parts: list[Any] = []
        for (topic, number), some in _by_part(records).items():
            messages = _messages(f"{self.name}:{topic}:{number}", topic, some, whole.rejected)
            if self.on_messages is not None:
                self.on_messages(messages)
            made = self._mapper.batch(messages)
            whole.records += made.records
            whole.rejected += made.rejected
            places += made.places or ()
            parts += made.parts if made.parts is not None else [f"{topic}:{number}"] * len(made.records)
            self._next[topic, number] = some[-1].offset() + 1
        whole.places, whole.parts = places, parts
        self._arrive()
        offsets: dict[str, dict[int, int]] = {}
        for (topic, number), at in self._next.items():
            offsets.setdefault(topic, {})[number] = at
        whole.position = {"offsets": offsets}
        return whole


def _leave(consumer: Consumer) -> None:
    """Close it. Where the cluster is away, the library waits a minute for its answer to the last commit, which nothing rests
    on: then it goes on closing by itself."""
    closing = threading.Thread(target=consumer.close, name="kafka closes", daemon=True)
    closing.start()
    closing.join(_LEAVE_SECONDS)


def _by_part(records: Sequence[Record]) -> dict[Part, list[Record]]:
    """The records of each partition. The library brings many of one, and then many of the next."""
    found: dict[Part, list[Record]] = {}
    topic, number, some = "", -1, list[Record]()
    for record in records:
        if record.partition() != number or record.topic() != topic:
            topic, number = record.topic(), record.partition()
            some = found.setdefault((topic, number), [])
        some.append(record)
    return found


def _messages(place: str, topic: str, records: Sequence[Record], refused: list[Rejected]) -> list[Message]:
    """Records of a partition as messages: their headers are properties, and so is their key, as `key`."""
    found = []
    for record in records:
        kind, moment = record.timestamp()
        at = time.time() if kind == TIMESTAMP_NOT_AVAILABLE else moment / 1000
        key, headers = record.key(), record.headers()
        if key is None and not headers:
            found.append(Message(topic, record.value() or b"", at))
            continue
        try:
            told = {name: value.decode() for name, value in headers or () if value is not None}
            if key is not None:
                told["key"] = key.decode()
        except UnicodeDecodeError:
            raw = (record.value() or b"")[:RAW_LIMIT]
            refused.append(Rejected(f"{place}:{record.offset()}", "its key, or a header, is not UTF-8", raw))
        else:
            found.append(Message(topic, record.value() or b"", at, False, told))
    return found
