"""Crawls, ``scrapy serve`` and ``scrapy alerts`` send alerts by webhook, by e-mail and to a command."""

from __future__ import annotations

import base64
import hmac
import json
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest

from newsbot.apps.alerts import extension as outputs
from newsbot.apps.alerts.extension import Command, Mail, OutputError, Webhook, options_from, outputs_from
from newsbot.apps.alerts.rules import LOCK, Alert, Message, take_lock
from newsbot.apps.alerts.saved import Found, Notice, SavedSearch
from newsbot.errors import ArgumentError
from testbed.messages import Answer, Request
from testbed.mockserver import MockServer
from tests.commandline import Place
from tests.commandline import article as make_article
from tests.crawls import World, article_html, feed_xml
from tests.newssite import serve
from tests.test_serve import serving

ALERT = Alert(
    rule="silent",
    subject="news.test",
    what="no new links from\nhttps://news.test/feed \x1b[31m",
    cause="it has moved",
    todo="look",
    since=1_795_000_000.0,
)
BEGAN = Message(event="began", alert=ALERT, at=1_795_000_900.0)
OVER = Message(event="over", alert=ALERT, at=1_795_001_900.0)
SECRET = "s3cr3t"


def hook(site: MockServer, *, status: int = 200, headers: dict[str, str] | None = None) -> list[Request]:
    """Make the local web accept posts to /hook/<secret>."""
    taken: list[Request] = []

    def take(request: Request) -> Answer:
        taken.append(request)
        return Answer(status=status, headers=headers or {})

    site.page(f"/hook/{SECRET}", take)
    return taken


def test_a_webhook_gets_a_text_and_fields(site: MockServer) -> None:
    taken = hook(site)
    Webhook(site.url(f"/hook/{SECRET}"), "newsbot/1").send([BEGAN, OVER])
    (request,) = taken
    assert (request.method, request.headers["content-type"]) == ("POST", "application/json")
    sent = json.loads(request.body)
    first, second = sent["alerts"]
    assert (first["event"], first["rule"], first["since"]) == ("began", "silent", "2026-11-18T11:06:40Z")
    assert second["event"] == "over"
    for words in ("ALERT: news.test: silent", "likely cause: it has moved", "what to do: look", "it was:"):
        assert words in sent["text"]
    assert "\x1b" not in sent["text"]


@pytest.mark.parametrize(
    ("status", "message"),
    [(500, "returned HTTP 500"), (302, "returned HTTP 302"), (404, "returned HTTP 404")],
)
def test_a_webhook_that_refuses_or_redirects_is_a_fault(site: MockServer, status: int, message: str) -> None:
    hook(site, status=status, headers={"Location": site.url("/elsewhere")})
    with pytest.raises(OutputError, match=message) as raised:
        Webhook(site.url(f"/hook/{SECRET}")).send([BEGAN])
    assert SECRET not in str(raised.value)
    assert "/elsewhere" not in site.seen()


def test_an_unreachable_webhook_is_a_fault_whose_message_hides_the_secret() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(
        OutputError, match=r"127\.0\.0\.1 cannot be reached \(ConnectionRefusedError\)"
    ) as raised:
        Webhook(f"http://127.0.0.1:{port}/{SECRET}").send([BEGAN])
    assert SECRET not in str(raised.value)


class _Letters(socketserver.StreamRequestHandler):
    """A minimal mail server (RFC 5321)."""

    def handle(self) -> None:
        self.say("220 here")
        while line := self.rfile.readline().decode().strip():
            word = line.split()[0].upper()
            if word == "DATA":
                self.say("354 go on")
                letter = b""
                while (part := self.rfile.readline()) != b".\r\n":
                    letter += part
                self.server.letters.append(letter.decode())  # type: ignore[attr-defined]
                self.say("250 taken")
            elif word == "AUTH":
                self.say("535 no")
            elif word == "EHLO":
                self.say("250-here\r\n250 AUTH PLAIN LOGIN")
            else:
                self.say("221 bye" if word == "QUIT" else "250 ok")

    def say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")


@pytest.fixture
def post() -> Iterator[Any]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Letters) as server:
        server.letters = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_an_email_has_all_details_in_plain_text(post: Any) -> None:
    port = post.server_address[1]
    Mail(("a@example.org", "b@example.org"), "bot@example.org", "127.0.0.1", port).send([BEGAN, OVER])
    (letter,) = post.letters
    assert "Subject: [newsbot] ALERT: news.test: silent and 1 more" in letter
    assert "To: a@example.org, b@example.org" in letter
    assert "likely cause: it has moved" in letter


def test_a_refused_password_is_not_printed(post: Any) -> None:
    mail = Mail(("a@example.org",), "b@example.org", "127.0.0.1", post.server_address[1], "user", SECRET)
    with pytest.raises(OutputError, match="SMTPAuthenticationError 535") as raised:
        mail.send([BEGAN])
    assert SECRET not in str(raised.value) + repr(mail)
    assert post.letters == []


def test_a_command_reads_the_messages_and_runs_without_a_shell(tmp_path: Path) -> None:
    out = tmp_path / "told"
    script = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read() + sys.argv[2])"
    Command((sys.executable, "-c", script, str(out), "$(touch x); *")).send([BEGAN])
    text = out.read_text()
    assert text.endswith("$(touch x); *")
    (message,) = json.loads(text.removesuffix("$(touch x); *"))
    assert message["subject"] == "news.test"
    assert message["text"].startswith("ALERT: news.test: silent")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((sys.executable, "-c", "raise SystemExit(3)"), "ended with exit code 3"),
        (("/no/such/program", SECRET), "cannot be started"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "was killed after"),
    ],
)
def test_a_command_that_fails_is_a_fault(
    words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "COMMAND_TIMEOUT", 1.0)
    with pytest.raises(OutputError, match=message) as raised:
        Command(words).send([BEGAN])
    assert SECRET not in str(raised.value)


def test_settings_name_the_outputs() -> None:
    made = outputs_from(
        {
            "NEWSBOT_ALERT_WEBHOOK": "http://10.0.0.5/hook",
            "NEWSBOT_ALERT_MAIL": "a@example.org, b@example.org",
            "NEWSBOT_ALERT_COMMAND": "notify-send 'two words'",
            "MAIL_HOST": "mail.example.org",
            "MAIL_TLS": "1",
            "MAIL_PORT": "587",
        }
    )
    assert [one.name for one in made] == ["log", "webhook", "mail", "command"]
    mail, command = made[2], made[3]
    assert isinstance(mail, Mail)
    assert (mail.to, mail.port, mail.tls, mail.sender) == (
        ("a@example.org", "b@example.org"),
        587,
        True,
        "a@example.org",
    )
    assert isinstance(command, Command)
    assert command.words == ("notify-send", "two words")
    listed = outputs_from({"NEWSBOT_ALERT_COMMAND": ["notify-send", "it's"]})[1]
    assert isinstance(listed, Command)
    assert listed.words == ("notify-send", "it's")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"NEWSBOT_ALERT_WEBHOOK": "file:///etc/passwd"}, "NEWSBOT_ALERT_WEBHOOK"),
        ({"NEWSBOT_ALERT_WEBHOOK": "https://a b/"}, "NEWSBOT_ALERT_WEBHOOK"),
        ({"NEWSBOT_ALERT_WEBHOOK": "http://[x/"}, "NEWSBOT_ALERT_WEBHOOK"),
        ({"NEWSBOT_ALERT_APPRISE": "json://a.example nothing:/"}, "NEWSBOT_ALERT_APPRISE: .* address 2"),
        ({"NEWSBOT_ALERT_MAIL": "nobody"}, "NEWSBOT_ALERT_MAIL"),
        ({"NEWSBOT_ALERT_MAIL": "a@x\nBcc: b@y"}, "NEWSBOT_ALERT_MAIL"),
        ({"NEWSBOT_ALERT_MAIL": "a@x", "MAIL_PORT": "many"}, "MAIL_PORT=many"),
        ({"NEWSBOT_ALERT_COMMAND": "echo 'x"}, "NEWSBOT_ALERT_COMMAND"),
        ({"NEWSBOT_ALERTS_OFF": "silence"}, "NEWSBOT_ALERTS_OFF=silence"),
    ],
)
def test_invalid_settings_are_reported_in_one_line(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as raised:
        options_from(settings)
    assert len(str(raised.value).splitlines()) == 1


def test_a_crawl_sends_alerts_and_stores_what_it_sent(world: World, site: MockServer) -> None:
    taken = hook(site)
    urls = [f"http://news.test/story/{number}" for number in range(2)]
    site.page(urls[0], article_html(0))
    site.page(urls[1], lambda _: Answer(body=article_html(1).encode(), delay=3.0))
    site.page("http://news.test/feed.xml", feed_xml(urls), headers={"Content-Type": "application/rss+xml"})
    world.rule("news.test", "domain: news.test\nfeeds: http://news.test/feed.xml\n")
    crawl = world.crawl(
        *("-s", "NEWSBOT_ALERT_EVERY=0.5", "-s", "NEWSBOT_ALERT_DISK=1000000000"),
        *("-s", f"NEWSBOT_ALERT_WEBHOOK=http://chat.test/hook/{SECRET}"),
    )
    assert crawl.code == 0, crawl.err
    assert "Traceback" not in crawl.err, crawl.err
    assert len(taken) == 1
    assert json.loads(taken[0].body)["alerts"][0]["rule"] == "disk"
    assert crawl.err.count("alert event=began rule=disk") == 1
    assert SECRET not in crawl.err
    with world.storage() as storage:
        assert storage.notes.all(LOCK[0])[LOCK[1]]["owner"] == "", "the lock is released for the next process"
    (world.folder / "place").mkdir()
    place = Place(world.folder / "place")
    shown = place.run("alerts", "--json", NEWSBOT_DATA=str(world.data), NEWSBOT_ALERT_DISK="1000000000")
    (row,) = shown.json
    assert (row["rule"], sorted(row["told"]), row["found_now"]) == ("disk", ["log", "webhook"], True)


def test_a_one_off_crawl_sends_notices_of_saved_searches_before_it_ends(
    world: World, site: MockServer
) -> None:
    taken = hook(site)
    serve(site, world, 2)
    world.crawl("-a", "max_articles=1")
    for name, *rest in (
        ("soon", "--tell", "at_once", "--fields", "title,text"),
        ("later", "--tell", "daily"),
    ):
        said = world.scrapy("articles", "save", name, "council", *rest)
        assert said.code == 0
        assert f"{name}: notices go to the log only" in said.err
    crawl = world.crawl("-a", "now=yes", "-s", f"NEWSBOT_ALERT_WEBHOOK=http://chat.test/hook/{SECRET}",
                        NEWSBOT_ALERT_SECRET=f"whsec_{base64.b64encode(b'k' * 24).decode()}")  # fmt: skip
    assert crawl.code == 0, crawl.err
    assert len(world.articles()) == 2
    found = [one for request in taken for one in json.loads(request.body)["alerts"]]
    assert [(one["search"], len(one["articles"])) for one in found if one["event"] == "found"] == [
        ("soon", 1)
    ]
    (article,) = found[0]["articles"]
    assert sorted(article) == ["text", "title"]
    assert article["text"] in {one.text for one in world.articles()}
    for request in taken:
        name, at = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        mac = hmac.digest(b"k" * 24, f"{name}.{at}.".encode() + request.body, "sha256")
        assert request.headers["webhook-signature"] == f"v1,{base64.b64encode(mac).decode()}"


def test_a_message_that_is_sent_again_has_the_same_id(site: MockServer) -> None:
    taken = hook(site)
    webhook = Webhook(site.url(f"/hook/{SECRET}"))
    for messages in ([BEGAN], [BEGAN], [BEGAN, OVER]):
        webhook.send(messages)
    first, again, other = (request.headers["webhook-id"] for request in taken)
    assert first == again != other
    assert "webhook-signature" not in taken[0].headers


BRIDGE = make_article(
    1,
    text="Die Brücke ist offen.\nZweiter Absatz.",
    authors=["A. B.", "C"],
    rights={"noai": "meta"},
)
FOUND = Found(
    SavedSearch(
        name="Brücken",
        query="bridge",
        tell="daily",
        created=0.0,
        cursor="",
        last=0.0,
        fields=["title", "url", "authors", "rights", "text"],
    ),
    Notice(1, 1_795_000_000.0, ["00", "01"], 3),
    [BRIDGE],
)


def test_an_email_has_the_fields_that_a_search_names(post: Any) -> None:
    Mail(("a@example.org",), "b@example.org", *post.server_address).send([FOUND, BEGAN])
    letter = message_from_bytes(post.letters[0].encode(), policy=default).get_content().replace("\r\n", "\n")
    for words in (
        "Brücken: 5 new articles",
        "Title 1\nhttps://example.org/news/1?utm_source=feed\n",
        "authors: A. B., C\nrights: {",
        "Die Brücke ist offen.\nZweiter Absatz.", "and 3 more", "likely cause: it has moved",
    ):  # fmt: skip
        assert words in letter


@pytest.mark.parametrize("status", [200, 500])
def test_apprise_sends_to_each_service(
    site: MockServer, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    taken = hook(site, status=status)
    place = site.url(f"/hook/{SECRET}").removeprefix("http://")
    log, service, other = outputs_from({"NEWSBOT_ALERT_APPRISE": f"json://{place} xml://{place}"})
    assert (log.name, service.name[:5], other.name[:4]) == ("log", "json ", "xml ")
    if status == 200:
        service.send([FOUND])
        sent = json.loads(taken[0].body)
        assert (sent["title"], "Zweiter Absatz." in sent["message"]) == (
            "[newsbot] Brücken: 5 new articles",
            True,
        )
        return
    with pytest.raises(OutputError, match=r"json [0-9a-f]{6} did not accept the message"):
        service.send([FOUND])
    assert SECRET not in caplog.text


def test_a_field_that_articles_do_not_have_is_refused(place: Place) -> None:
    answer = place.run("articles", "save", "x", "bridge", "--fields", "title,txt")
    assert (answer.code, "txt: articles have no such field (did you mean 'text'?)" in answer.err) == (2, True)
    chat = place.run("articles", "save", "x", "bridge", "--tell", "daily", NEWSBOT_ALERT_MAIL="a@example.org")
    assert (chat.code, "log only" in chat.err) == (0, False)


def test_a_crawl_reports_invalid_alert_settings_before_it_starts(world: World) -> None:
    world.rule("news.test")
    crawl = world.crawl("-s", "NEWSBOT_ALERTS_OFF=everything")
    assert (crawl.code, len(crawl.err.splitlines())) == (2, 1)
    assert "is not an alert rule (silent," in crawl.err


def test_scrapy_serve_sends_alerts_while_no_crawl_runs(world: World, site: MockServer) -> None:
    taken = hook(site)
    world.rule("news.test")
    full = ("-s", "NEWSBOT_ALERT_EVERY=0.3", "-s", "NEWSBOT_ALERT_DISK=1000000000")
    with serving(world, *full, NEWSBOT_ALERT_WEBHOOK=f"http://chat.test/hook/{SECRET}"):
        deadline = time.monotonic() + 60
        while not taken and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.0)  # three more rounds
    assert [json.loads(one.body)["alerts"][0]["rule"] for one in taken] == ["disk"]
    with world.storage() as storage:
        assert storage.notes.all(LOCK[0])[LOCK[1]]["owner"] == "", "the lock is released for the next process"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    with place.storage(), place.frontier():
        return place


def test_alerts_are_shown_but_not_sent(place: Place, site: MockServer) -> None:
    taken = hook(site)
    chat = {"NEWSBOT_ALERT_WEBHOOK": site.url(f"/hook/{SECRET}")}
    quiet = place.run("alerts", **chat)
    assert (quiet.out, "no alerts; outputs: log, webhook" in quiet.err) == ("", True)
    full = {**chat, "NEWSBOT_ALERT_DISK": "1000000000"}
    shown = place.run("alerts", **full).out
    assert "free disk space" in shown
    assert "no" in shown.split()
    assert taken == []
    assert place.run("alerts", NEWSBOT_ALERT_LAG="soon").code == 2


def test_a_test_message_is_sent_to_all_outputs_and_a_round_sends_once(place: Place, site: MockServer) -> None:
    taken = hook(site)
    chat = {"NEWSBOT_ALERT_WEBHOOK": site.url(f"/hook/{SECRET}"), "NEWSBOT_ALERT_DISK": "1000000000"}
    assert place.run("alerts", "--test", **chat).code == 0
    assert json.loads(taken[0].body)["alerts"][0]["event"] == "test"
    assert place.run("alerts", "--send", **chat).code == 0
    assert place.run("alerts", "--send", **chat).code == 0
    assert [json.loads(one.body)["alerts"][0]["event"] for one in taken] == ["test", "began"]
    with place.storage() as storage:
        assert take_lock(storage.notes, "a crawl", time.time(), 60.0)
    assert "scrapy serve is sending the alerts" in place.run("alerts", "--send", **chat).err
    hook(site, status=500)
    failed = place.run("alerts", "--test", **chat)
    assert (failed.code, "returned HTTP 500" in failed.err) == (1, True)
