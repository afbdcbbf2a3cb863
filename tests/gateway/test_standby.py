"""Two gateways, one of which leads: whichever is killed, stopped or cut off, each alarm is told, under one id."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import pytest
from pairs import Pair, pair

from children import WAIT
from tidelog.gateway.building import build
from tidelog.gateway.file.reading import read_settings
from tidelog.gateway.pair.standby import check_standby
from tidelog.plans.diagnostics.errors import SpecError
from waiting import eventually

pytestmark = pytest.mark.slow

QUICK = "lease_seconds = 0.8\nrenew_every = 0.15"
FAULTS = {
    "kill": Pair.kill,
    "stop": Pair.stop,
    "pull": Pair.pull,
    "pull from both": Pair.pull_from_both,
    "cut": Pair.cut,
    "hand over": Pair.hand_over,
    "end": Pair.end_cleanly,
}
POINTS = int(os.environ.get("POINTS", "12"))


def test_the_follower_leads_when_the_leader_is_gone(tmp_path: Path) -> None:
    """Killed, cut off from the lease, or from the other one while devices post: all is told, and each says its role."""
    with pair(tmp_path, QUICK) as both:
        for member in both.members:
            member.start()
        leader, follower = both.wait_together()
        assert leader.ask("/healthz")[1].startswith(b"ok: leads under epoch ")
        assert b"has all" in follower.ask("/healthz")[1] and follower.ask("/ready")[0] == 503
        for member, leads in ((leader, b"1.0"), (follower, b"0.0")):
            metrics = member.ask("/metrics")[1]
            assert b"tidelog_standby_leads " + leads in metrics and b"tidelog_standby_lag_commits " in metrics
        with both.posting():
            both.cut(leader)
            with both.fault(0) as (leader, follower):
                both.pull(leader)
            with both.fault(0) as (leader, follower):
                leader.end()
                both.wait_leads(follower)
        both.check_all_told()
        assert follower.standing["is_alone"]


def test_who_is_fenced_gives_no_receipt_for_what_it_has_not_copied(tmp_path: Path) -> None:
    """A post waits for the copy when the lease is over. What the gateway stores then, as it follows, is of others."""
    with pair(tmp_path, QUICK + "\ncopy_within = 30") as both:
        for member in both.members:
            member.start()
        both.post(1)
        leader = both.wait_together()[0]
        wire = both.wires[list(both.members).index(leader)]
        wire.stall()
        answers: list[int] = []
        body = b'{"celsius": 85, "n": 77, "t": 1700000000077}'
        posting = threading.Thread(target=lambda: answers.append(leader.ask("/devices/m0/temp", body, 30)[0]))
        posting.start()
        eventually(lambda: leader.standing["lag"] > 0)
        assert not answers
        both.pull(leader)
        wire.flow()
        wire.cut()
        both.post(1)
        both.wait_together()
        posting.join(WAIT)
        assert answers == [503]
        both.check_all_told()


@pytest.mark.long
def test_each_alarm_is_told_whatever_happens_when(tmp_path: Path) -> None:
    """Faults of each kind, at moments that are drawn, while devices post without a pause."""
    chance = random.Random(int(os.environ.get("SEED", "1")))
    faults = [*FAULTS.values(), *chance.choices(list(FAULTS.values()), k=max(0, POINTS - len(FAULTS)))]
    chance.shuffle(faults)
    with pair(tmp_path, QUICK) as both:
        for member in both.members:
            member.start()
        with both.posting():
            for fault in faults[:POINTS]:
                with both.fault(chance.uniform(0, 0.3)) as (leader, _):
                    fault(both, leader)
        both.check_all_told()


@pytest.mark.long
def test_a_follower_that_has_lost_its_state_takes_a_copy(tmp_path: Path) -> None:
    """It follows from there. A state that has been alone with something is set aside, and the other one takes its place."""
    with pair(tmp_path, QUICK) as both:
        first, second = both.members
        first.start()
        both.post(5)
        first.end()  # with what it had in memory for who follows
        first.start()
        both.leader()
        second.start()
        both.wait_together()
        assert "taking a copy of the state" in second.log
        second.end()
        eventually(lambda: first.standing.get("is_alone"))
        both.post(5)
        both.check_all_told()  # what was not, would be lost now
        first.end()
        second.start()
        eventually(lambda: "lacks what was told last" in second.log)
        assert not second.leads
        status, told = second.ask("/-/take-over", b"")
        assert status == 409 and b"does not have all that the other one has told" in told
        assert second.ask("/-/take-over-behind", b"", 30)[0] == 200
        both.post(5)
        first.start()
        both.wait_together()
        assert list((first.folder / "state").glob("plant.*.followed"))
        both.check_all_told()


def test_what_cannot_stand_by_is_told(tmp_path: Path) -> None:
    """Each mistake with what to do."""
    with pair(tmp_path) as both:
        file = both.members[0].file
        right = file.read_text()
        broker = 'type = "mqtt"\nurl = "mqtt://127.0.0.1"\n'
        os.environ["PAIR_TOKEN"] = "a token of both gateways"  # noqa: S105 - of a test
        try:
            for change, message in (
                (("[http]", "[limits]"), r"follows this one by the server of `\[http\]`"),
                (('state = "state"', ""), "what is followed is the state"),
                (("[standby]", "[standby]\nrenew_every = 1.0"), "`renew_every` \\(1 s\\) is at most a third"),
                (("http://127.0.0.1", "http://gateway-b"), "lies beyond this machine: following a gateway there needs TLS"),
                (('type = "webhook"', f'{broker}retain = "while-holding"\n#'), "is known to one gateway, and is not copied"),
                (('type = "webhook"', f"{broker}homeassistant = true\n#"), "is known to one gateway, and is not copied"),
                (('type = "webhook"', 'type = "alertmanager"\nurl = "http://127.0.0.1"\n#'), "told to hold is known to one"),
                (('type = "webhook"', 'type = "spec"\nspec = "spark+outbox:box"\n#'), "an outbox belongs to one gateway"),
            ):
                text = right.replace(*change, 1)
                if "[limits]" in text:
                    text = text.replace(
                        f'listen = "127.0.0.1:{both.members[0].port}"\ntoken = {{ env = "PAIR_TOKEN" }}\n', ""
                    )
                if 'type = "webhook"' not in text:
                    text = text[: text.rindex('url = "http')]
                file.write_text(text)
                with pytest.raises(SpecError, match=message):
                    check_standby(read_settings(file), file.parent)
            file.write_text(right)
            check_standby(read_settings(file), file.parent)
            assert build(read_settings(file), file.parent)
        finally:
            del os.environ["PAIR_TOKEN"]
