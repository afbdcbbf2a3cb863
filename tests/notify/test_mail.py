"""Mail, with a server that takes it, refuses some of it, or is busy; by TLS and with a login."""

from __future__ import annotations

import email
import email.policy
import ssl
import subprocess
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from receivers import Mailbox, Post, mail_server

import tidelog
from tidelog.connectors.mapping.about import About
from tidelog.connectors.mapping.templates import Template
from tidelog.connectors.notify.letters import LetterWriter
from tidelog.connectors.notify.mail import MailSink, Patience
from tidelog.connectors.notify.smtp import MailServer
from tidelog.connectors.sinks.choosing import Choice
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import POS
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import AnyAnswer, Rejected

PLAN = tidelog.compile(
    'timeline integer, unit 1 s. input heat(room: text). alarm hot(room: text), text "{room} is hot". hot(R) :- heat(R).'
)
ALARMS = {alarm.name: alarm for alarm in PLAN.alarms}
ANNA, BEN = "anna@example.org", "ben@example.org"
PROMPT = Patience(0.001, 0.01, 0.05)


def begins(room: str, at: int = 10) -> ChangeRecord:
    return ChangeRecord("hot", (room,), at, POS)


def ended(room: str, at: int = 10, to: int = 20) -> ChangeRecord:
    return ChangeRecord("hot", (room,), at, to)


def letters_of(subject: str, text: str, to: Sequence[str], *, explains: bool = False) -> LetterWriter:
    about = About(ALARMS, explains=explains)
    made = [Template(PLAN.schema, one, iso=True, outputs=["hot"], about=about) for one in (subject, text)]
    return LetterWriter("plant@example.org", to, *made, "plant")


def send(
    server: MailServer,
    answers: Sequence[AnyAnswer],
    *,
    to: Sequence[str] = (ANNA,),
    subject: str = "{state}: {text}",
    text: str = "{text}, {when}",
    letters: list[Rejected] | None = None,
    while_sending: Callable[[MailSink], None] | None = None,
    first: int = 1,
    **options: Any,
) -> MailSink:
    """Send these, in a run of its own."""

    async def take(found: Sequence[Rejected]) -> None:
        assert letters is not None, found
        letters.extend(found)

    async def run() -> None:
        sink.give_up_to(take)
        async with sink, anyio.create_task_group() as tasks:
            if while_sending is not None:
                tasks.start_soon(wait)
            sink.number(Heading("run1", first, 0))
            with anyio.fail_after(60):
                await sink.send(answers)
            tasks.cancel_scope.cancel()

    async def wait() -> None:
        while sink.is_connected:  # noqa: ASYNC110 - it is not told
            await anyio.sleep(0.005)
        assert while_sending is not None
        while_sending(sink)

    options.setdefault("patience", PROMPT)
    writer = letters_of(subject, text, to, explains="explain" in options)
    explain = options.pop("explain", None)
    sink = MailSink("mail", server, PLAN.schema, writer, **options)
    if explain is not None:
        sink.explain_by(explain)
    anyio.run(run, backend="trio")
    return sink


def plain(port: int) -> MailServer:
    return MailServer("127.0.0.1", port, "none")


def subjects(box: Mailbox) -> list[str]:
    return [str(post.message["Subject"]) for post in box.posts]


def said(message: EmailMessage) -> str:
    """The text of a mail, with line ends as programs have them."""
    return str(message.get_content()).replace("\r\n", "\n")


def test_a_mail_says_what_whom_and_when() -> None:
    """Its begin and its end belong together; a repeat has the same id; nobody's mailer answers it."""
    box = Mailbox()
    with mail_server(box) as port:
        for _ in range(2):
            send(plain(port), [begins("north"), ended("north"), begins("süd ☀")], to=[ANNA, BEN])
    first, second, third = [post.message for post in box.posts[:3]]
    assert subjects(box)[:3] == ["begins: north is hot", "ended: north is hot", "begins: süd ☀ is hot"]
    assert (first["From"], first["To"], box.posts[0].to) == ("plant@example.org", f"{ANNA}, {BEN}", [ANNA, BEN])
    assert said(first) == "north is hot, since 1970-01-01T00:00:10Z\n"
    assert said(second) == "north is hot, from 1970-01-01T00:00:10Z to 1970-01-01T00:00:20Z\n"
    assert first["References"] == second["References"] != third["References"]
    assert [post.message["Message-ID"] for post in box.posts] == [f"<run1-{i}@example.org>" for i in (1, 2, 3)] * 2
    assert first["Auto-Submitted"] == "auto-generated" and first["Date"].datetime.tzinfo is not None


def test_a_mail_says_why() -> None:
    """The reason is asked for where a template has a place for it."""

    async def explain(record: object) -> str:
        return f"heat was there\nfor {record!r}"

    box = Mailbox()
    with mail_server(box) as port:
        send(plain(port), [begins("north")], text="{reason}", explain=explain)
    assert said(box.posts[0].message).startswith("heat was there\nfor ChangeRecord(")


def test_begins_alone_where_they_are_chosen() -> None:
    """`states` says which of both a sink is told; they keep the numbers of their answers."""
    box = Mailbox()
    with mail_server(box) as port:
        send(plain(port), [begins("a"), ended("a"), begins("b")], choice=Choice(states=["begins"]))
    assert [post.message["Message-ID"] for post in box.posts] == ["<run1-1@example.org>", "<run1-3@example.org>"]


def test_many_at_once_are_one_mail() -> None:
    """With what each says, in order, and an id that says of which answers it is."""
    box = Mailbox()
    with mail_server(box) as port:
        send(plain(port), [begins(f"r{i}") for i in range(4)], digest=4)
        sink = send(plain(port), [begins(f"r{i}") for i in range(1200)], digest=4, first=7)
    assert len(box.posts) == 4 + 3 and sink.sent == 3
    assert subjects(box)[4:] == ["500 messages of plant", "500 messages of plant", "200 messages of plant"]
    ids = [str(post.message["Message-ID"]) for post in box.posts[4:]]
    assert ids == [f"<run1-{a}-{b}@example.org>" for a, b in ((7, 506), (507, 1006), (1007, 1206))]
    told = "".join(said(post.message) for post in box.posts[4:])
    assert [line.split()[0] for line in told.splitlines() if ", since" in line] == [f"r{i}" for i in range(1200)]


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=120))
def test_any_value_is_read_as_it_was(room: str) -> None:
    """Whatever stands in a value, it is no header, no end of the mail, and no other text."""
    writer = letters_of("{room}|", ".\n{room}|", [ANNA])
    letter = writer.letter(begins(room), 1, "")
    found = email.message_from_bytes(writer.mail([letter], "run1"), policy=email.policy.default)
    known = {"From", "To", "References", "Subject", "Message-ID", "Date", "Auto-Submitted"}
    assert {*found.keys()} == known | {"Content-Type", "Content-Transfer-Encoding", "MIME-Version"}
    assert str(found["Subject"]).split() == f"{room}|".split()
    assert isinstance(found, EmailMessage) and said(found) == f".\n{room}|\n"


def test_a_subject_has_one_line() -> None:
    """A value with line ends does not become a header, and a long one is cut, with a mark."""
    box = Mailbox()
    with mail_server(box) as port:
        send(plain(port), [begins("a\r\nBcc: evil@example.org\r\n\r\nx"), begins("y" * 3000)])
    assert subjects(box)[0] == "begins: a Bcc: evil@example.org x is hot"
    assert "Bcc" not in box.posts[0].message
    assert len(subjects(box)[1]) == 200 and subjects(box)[1].endswith("yyy […]")
    assert "y" * 3000 in said(box.posts[1].message)


# --- refusals ------------------------------------------------------------------------------------------------------------


def test_recipients_are_refused_one_by_one() -> None:
    """Who is refused for good costs a dead letter that names him; the others have their mail."""
    box, letters = Mailbox(refuse=lambda who: "550 5.1.1 no such user" if who == BEN else None), list[Rejected]()
    with mail_server(box) as port:
        send(plain(port), [begins("north"), ended("north")], to=[ANNA, BEN], letters=letters)
    assert [post.to for post in box.posts] == [[ANNA], [ANNA]]
    assert [letter.record for letter in letters] == [begins("north"), ended("north")]
    assert letters[0].reason == f"refused for `{BEN}`: 550 5.1.1 no such user"


def test_a_mail_that_is_refused_is_a_dead_letter() -> None:
    """Its content, or its length; the others go on."""

    def refuse(post: Post) -> str | None:
        return "554 5.6.0 it reads as if it were spam" if "spam" in str(post.message["Subject"]) else None

    box, letters = Mailbox(refuse_data=refuse), list[Rejected]()
    with mail_server(box, most=100_000) as port:
        send(plain(port), [begins("a"), begins("spam"), begins("\ud800"), begins("b")], letters=letters)
        send(plain(port), [begins("c"), begins("x" * 200_000), begins("d")], letters=letters)
    assert subjects(box) == [f"begins: {room} is hot" for room in "abcd"]
    assert [letter.record[1][0][:4] for letter in letters if letter.record] == ["\ud800", "spam", "xxxx"]
    assert "554 5.6.0" in letters[1].reason and "552" in letters[2].reason


def test_a_recipient_who_is_not_taken_now_is_tried_again() -> None:
    """The others have their mail at once, each has all of his in order, and nobody has one twice."""
    left = [3]

    def refuse(who: str) -> str | None:
        left[0] -= who == BEN
        return "450 4.2.0 greylisted" if who == BEN and left[0] >= 0 else None

    box = Mailbox(refuse=refuse)
    with mail_server(box) as port:
        send(plain(port), [begins("a"), begins("b"), begins("c")], to=[ANNA, BEN], patience=Patience(0.001, 0.01, 60))
    for who in (ANNA, BEN):
        got = [str(post.message["Subject"])[8] for post in box.posts if who in post.to]
        assert got == ["a", "b", "c"]


def test_one_who_is_never_taken_holds_up_the_others_for_a_while() -> None:
    """Then each of his mails is a dead letter. But where nobody is taken, the mail waits."""
    box, letters = Mailbox(refuse=lambda who: "452 4.2.2 mailbox full" if who == BEN else None), list[Rejected]()
    with mail_server(box) as port:
        send(plain(port), [begins("a"), begins("b")], to=[ANNA, BEN], letters=letters)
        assert [letter.reason for letter in letters] == [
            f"refused for `{BEN}`: not taken for long: 452 4.2.2 mailbox full"
        ] * 2
        assert [post.to for post in box.posts] == [[ANNA]] * 2

        def mend(sink: MailSink) -> None:
            box.refuse = lambda who: None

        send(plain(port), [begins("c")], to=[BEN], while_sending=mend)
    assert box.posts[-1].to == [BEN]


@pytest.mark.parametrize("said", ["451 4.3.0 try again", "421 4.3.2 closing", "550 5.7.1 blocked", "530 5.7.0 log in"])
def test_while_the_server_takes_nothing_from_this_sender_mail_waits(said: str) -> None:
    """Somebody has to mend that, or it passes: no mail is given up."""
    box = Mailbox(refuse_sender=lambda sender: said)

    def mend(sink: MailSink) -> None:
        box.refuse_sender = lambda sender: None

    with mail_server(box) as port:
        send(plain(port), [begins("a"), begins("b")], while_sending=mend)
    assert subjects(box) == ["begins: a is hot", "begins: b is hot"]


# --- TLS -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine, with its key behind it."""
    folder = tmp_path_factory.mktemp("tls")
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=mail", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*new, *names, "-keyout", "key.pem", "-out", "cert.pem"], cwd=folder, check=True, capture_output=True)
    return folder


def served(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@pytest.mark.filterwarnings("ignore:Requiring AUTH")  # the library's server knows no TLS but its own
@pytest.mark.parametrize("is_implicit", [False, True])
def test_by_tls_and_with_a_login(certificate: Path, is_implicit: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A password that is wrong, and a certificate that nobody trusts, let mail wait; neither is a dead letter."""
    box, given = Mailbox(), ["wrong"]
    with mail_server(box, tls=served(certificate), is_implicit=is_implicit, needs_login=True) as port:
        way: Any = "implicit" if is_implicit else "starttls"
        right = MailServer("127.0.0.1", port, way, str(certificate / "cert.pem"), "plant", lambda: given[0])

        def mend(sink: MailSink) -> None:
            given[0] = "right"

        send(right, [begins("a")], while_sending=mend)
        assert "535" in caplog.text and "wrong" not in caplog.text
        caplog.clear()
        strange = MailServer("127.0.0.1", port, way, None, "plant", lambda: "right")

        def trust(sink: MailSink) -> None:
            sink._server = right

        send(strange, [begins("b")], while_sending=trust)
    assert "TLS: " in caplog.text
    assert subjects(box) == ["begins: a is hot", "begins: b is hot"] and box.encrypted == [True, True]
