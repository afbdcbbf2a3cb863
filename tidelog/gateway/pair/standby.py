"""Which of two gateways leads: this one waits until it may, and stops once it may not any more."""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import anyio

from tidelog.connectors.outbox.spec import is_outbox
from tidelog.connectors.standby.keeper import Keeper
from tidelog.connectors.standby.leader import Leader, check_address
from tidelog.connectors.standby.lease import Claim, ClaimFolder, Lease, check_folder
from tidelog.connectors.standby.partner import Partner
from tidelog.connectors.standby.report import Report, Role
from tidelog.connectors.standby.shared_state import SharedState
from tidelog.connectors.store.state_store import FILE, PRIVATE
from tidelog.connectors.store.syncing import make_folder, replace_file
from tidelog.connectors.transport.credentials import check_token
from tidelog.gateway.file.settings import GatewaySettings, StandbySettings
from tidelog.gateway.kinds.own.alertmanager import AlertmanagerSinkSettings
from tidelog.gateway.kinds.own.mqtt import MqttSinkSettings
from tidelog.gateway.kinds.own.spec import SpecSinkSettings
from tidelog.gateway.pair.following import WAIT, Follower
from tidelog.plans.diagnostics.errors import FencedError, SpecError

logger = logging.getLogger("tidelog")

BEHIND_SECONDS = 30.0
"""For how long a gateway that lacks something leaves the lead to one that does not, once the lease is over."""
NODE = "standby-node"
"""The file in the folder of the states that says who this gateway is."""
_LOOK = 0.05
_BEATS = 3
"""How many times the lease is to be renewed within its length, at least."""


class Standby:
    """How this gateway stands beside the other one. `followers` are its programs.

    SpecError or ConnectorError where the file's `[standby]` cannot be.
    """

    def __init__(self, settings: GatewaySettings, folder: Path) -> None:
        own = check_standby(settings, folder)
        check_folder(str(folder / own.lease))
        self.node = _node(settings, folder / settings.state)
        self.lease = Lease(ClaimFolder(str(folder / own.lease), self.node), self.node, own.lease_seconds)
        self.keeper = Keeper(self.lease, own.renew_every)
        self.partner = Partner(self.keeper, own.copy_within)
        self.role: Role = "follows"
        self.since = time.time()
        self.followers: Sequence[Follower] = ()
        self._settings, self._folder = own, folder
        self.address = check_address(own.follow)
        self._is_told = False
        self._leads = anyio.Event()
        self._over_since = math.inf
        self._told_behind: Claim | None = None

    def leader(self) -> Leader:
        """The other gateway, to be asked."""
        own = self._settings
        token = None if own.token is None else check_token(own.token.reveal(self._folder))
        trusted = str(self._folder / own.ca) if own.ca else None
        return Leader(own.follow, self.node, token=token, trusted=trusted)

    def open_state(self, path: Path) -> SharedState:
        """The state of a program, of which the other gateway has a copy, or takes one."""
        return SharedState(str(path), self.lease, self.partner)

    # --- who follows ----------------------------------------------------------------------------------------------------

    def follow(self, followers: Sequence[Follower]) -> None:
        """This gateway follows from now on."""
        if self.role != "follows":
            self.role, self.since, self._leads = "follows", time.time(), anyio.Event()
        self.followers = followers
        self._is_told, self._over_since = False, math.inf

    def take_over(self, *, behind: bool = False) -> None:
        """Lead as soon as can be. SpecError where this gateway leads, or, unless `behind`, where it lacks something."""
        seen = self.keeper.seen
        if self.role == "leads":
            raise SpecError("this gateway leads already")
        if not behind and (seen is None or not self._has_all(seen.claim)):
            raise SpecError(
                "this gateway does not have all that the other one has told, and what it lacks would be lost: to lead "
                "nevertheless, say so with `--behind`"
            )
        self._is_told = True

    async def wait_leads(self) -> None:
        """Wait until this gateway leads."""
        await self._leads.wait()

    async def wait_to_lead(self) -> None:
        """Wait until this gateway holds the lease, and may tell something."""
        while True:
            self.keeper.turned()
            if await self._claim() and await self._wait_begin():
                return
            await anyio.sleep(_LOOK)

    async def _claim(self) -> bool:
        seen = self.keeper.seen
        least = max((follower.state.known_epoch for follower in self.followers), default=0)
        if self._is_told:
            return await self.keeper.claim(None, least, now=True)
        if seen is None:
            return False
        if not seen.is_over and not self._is_own(seen.claim):
            self._over_since = math.inf
            return False
        if not self._has_all(seen.claim) and not self._may_lead_behind(seen.claim):
            return False
        return await self.keeper.claim(seen.claim, least)

    def _is_own(self, claim: Claim | None) -> bool:
        return claim is not None and claim.node == self.node

    def _has_all(self, claim: Claim | None) -> bool:
        """Whether this gateway has all that was told under a claim."""
        return claim is None or self.node in (claim.node, claim.copied)

    def _may_lead_behind(self, claim: Claim | None) -> bool:
        self._over_since = min(self._over_since, time.monotonic())
        waits_for_ever = self._settings.when_behind == "wait"
        if self._told_behind != claim:
            self._told_behind = claim
            then = "waits to be told" if waits_for_ever else f"leads in {BEHIND_SECONDS:g} s unless another one does"
            logger.warning("the lease is over, and this gateway lacks what was told last: it %s", then)
        return not waits_for_ever and time.monotonic() - self._over_since >= BEHIND_SECONDS

    async def _wait_begin(self) -> bool:
        """Wait until the one before has stopped; False where another one has claimed the lease since."""
        self._is_told = False
        while self.lease.may_tell():
            if await self.keeper.may_begin():
                return True
            self.keeper.turned()
            await anyio.sleep(_LOOK)
        return False

    # --- who leads ------------------------------------------------------------------------------------------------------

    def lead(self) -> None:
        """This gateway leads from now on."""
        self.role, self.since = "leads", time.time()
        self.partner.states = {follower.name: follower.state for follower in self.followers}
        self.partner.begin()
        self._leads.set()
        logger.warning("leading under epoch %d", self.lease.epoch)

    async def watch(self) -> None:
        """FencedError once the lease is over."""
        try:
            while True:
                self.keeper.turned()
                self.lease.check()
                await self.partner.look()
                await anyio.sleep(_LOOK)
        except FencedError:
            self.partner.fenced()
            raise

    async def stop_leading(self) -> None:
        """Nothing is told any more: the other one may lead at once."""
        for state in self.partner.states.values():
            state.stop_leading()
        self.partner.states = {}
        with anyio.move_on_after(self._settings.lease_seconds, shield=True):
            await self.keeper.end()

    # --- to be seen -----------------------------------------------------------------------------------------------------

    def report(self) -> Report:
        """How it stands."""
        if self.role == "leads":
            partner = self.partner
            late = time.monotonic() - partner.lagging_since if partner.lag else 0.0
            alone = not partner.node
            return Report(
                "leads", self.lease.epoch, self.since, partner.lag, late, alone, partner.alone_count, self.keeper.problem
            )
        claim = None if self.keeper.seen is None else self.keeper.seen.claim
        now = time.monotonic()
        late = max((now - follower.heard for follower in self.followers), default=0.0)
        lag = sum(follower.lag for follower in self.followers)
        problem = self.keeper.problem or next((one.problem for one in self.followers if one.problem), "")
        epoch = 0 if claim is None else claim.epoch
        lag_seconds = late if lag or late > 2 * WAIT else 0.0
        return Report(
            "follows", epoch, self.since, lag, lag_seconds, not self._has_all(claim), self.partner.alone_count, problem
        )


def check_standby(settings: GatewaySettings, folder: Path) -> StandbySettings:
    """What the file says of the two gateways; SpecError where that cannot be."""
    own = settings.standby
    if own is None:
        raise SpecError("the file has no `[standby]`")
    try:
        if settings.http is None:
            raise SpecError(
                "the other gateway follows this one by the server of `[http]`, which this file does not have: add it"
            )
        if not settings.state:
            raise SpecError('what is followed is the state: say where that is kept, such as `state = "state"`')
        if settings.when_program_changes == "set-aside":
            raise SpecError("a state that is set aside cannot be followed: `when_program_changes` is `refuse` or `drop`")
        if own.renew_every * _BEATS > own.lease_seconds:
            raise SpecError(
                f"`renew_every` ({own.renew_every:g} s) is at most a third of `lease_seconds` ({own.lease_seconds:g} s)"
            )
        outbox = next((one.name for one in settings.sink if isinstance(one, SpecSinkSettings) and is_outbox(one.spec)), None)
        if outbox is not None:
            raise SpecError(f"sink `{outbox}`: an outbox belongs to one gateway, and is not copied: leave it out")
        keeping = next((one for one in settings.sink if _keeps(one)), None)
        if isinstance(keeping, MqttSinkSettings):
            raise SpecError(
                f"sink `{keeping.name}`: what a broker retains while it holds is known to one gateway, and is not copied: "
                'leave `retain = "while-holding"` and `homeassistant` away'
            )
        if keeping is not None:
            raise SpecError(
                f"sink `{keeping.name}`: what Alertmanager was told to hold is known to one gateway, and is not copied: "
                "leave it out, or tell a webhook"
            )
        check_address(own.follow)
        if own.token is not None:
            check_token(own.token.reveal(folder))
    except SpecError as error:
        raise SpecError(f"`[standby]`: {error}") from None
    return own


def _keeps(sink: object) -> bool:
    """Whether a sink has a file of what holds, which the other gateway would lack."""
    return isinstance(sink, AlertmanagerSinkSettings) or (isinstance(sink, MqttSinkSettings) and sink.keeps)


def _node(settings: GatewaySettings, states: Path) -> str:
    """Who this gateway is: another one once it has lost a state."""
    path = states / NODE
    if path.is_file() and all((states / program.name / FILE).is_file() for program in settings.programs):
        return path.read_text("utf-8").strip()
    node = uuid.uuid4().hex[:16]
    make_folder(states, PRIVATE)
    replace_file(path, node + "\n")
    return node
