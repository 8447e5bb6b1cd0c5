"""IndexNow, notices of sensors, rssCloud and pings: which are accepted, and their effects."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from newsbot.apps.push.protocols import notice_header
from newsbot.apps.web import service
from newsbot.apps.web.push import Desk, Fate
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Article
from newsbot.pages.rules import Rule, RuleSet
from newsbot.storage.sqlite import SqliteStorage
from newsbot.urls import canonicalize, fingerprint
from tests.contracts.storage_samples import make_article
from tests.pushing import Place, receiver, until

KEY = "0123456789abcdef"


@pytest.fixture(autouse=True)
def quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "AGAIN_EVERY", 0.02)
    monkeypatch.setattr(service, "REVIEW_EVERY", 0.02)


def run(folder: Path, test: Callable[[Place], Awaitable[None]], **options: Any) -> None:
    async def within() -> None:
        async with receiver(folder, **options) as place:
            await asyncio.wait_for(test(place), 30)

    asyncio.run(within())


def notice(place: Place, *paths: str, **change: Any) -> bytes:
    host = place.site.removeprefix("http://")
    urls = [place.site + path for path in paths]
    document = {"host": host, "key": KEY, "keyLocation": f"{place.site}/{KEY}.txt", "urlList": urls}
    return json.dumps(document | change).encode()


# --- IndexNow
def test_notices_of_a_site_with_its_key_file_are_accepted(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        place.files[f"/{KEY}.txt"] = KEY.encode()
        answer = await place.post("/indexnow", notice(place, "/feed.xml", "/2026/11/21/new-story.html"))
        assert answer.status == 202
        fetched: list[str] = []

        def both() -> bool:  # not immediately: the host has a delay
            fetched.extend(place.work())
            return len(fetched) > 1

        await until(both)
        assert sorted(fetched) == [f"{place.site}/2026/11/21/new-story.html", place.feed]
        answer = await place.get("/indexnow", url=f"{place.site}/feed.xml", key=KEY)
        assert answer.status == 202
        await until(lambda: place.work() == {place.feed})

    run(tmp_path, test)


@pytest.mark.parametrize("content", [None, b"another key of somebody"])
def test_notices_without_a_key_file_are_refused(tmp_path: Path, content: bytes | None) -> None:
    async def test(place: Place) -> None:
        if content is not None:
            place.files[f"/{KEY}.txt"] = content
        assert (await place.post("/indexnow", notice(place, "/feed.xml"))).status == 403
        assert place.due() == set()

    run(tmp_path, test)


def test_a_key_file_is_requested_once(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        place.files[f"/{KEY}.txt"] = KEY.encode()
        await place.post("/indexnow", notice(place, "/feed.xml"))
        del place.files[f"/{KEY}.txt"]
        assert (await place.post("/indexnow", notice(place, "/feed.xml"))).status == 202
        other = notice(place, "/feed.xml", key=KEY + "0")
        assert (await place.post("/indexnow", other)).status == 403

    run(tmp_path, test)


def test_forged_notices_cause_few_requests_to_the_site(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        forged = [notice(place, "/feed.xml", key=f"{KEY}{n % 15}") for n in range(30)]
        answers = [(await place.post("/indexnow", body)).status for body in forged]
        assert answers[:15] == [403] * 10 + [429] * 5, "the number of key file requests per host is limited"
        assert answers[15:] == answers[:15], "missing key files are not requested again"
        assert place.requested.count(f"/{KEY}.txt") == 10

    run(tmp_path, test)


def test_hosts_without_a_rule_are_not_requested(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        port = place.site.rpartition(":")[2]
        there = f"http://localhost:{port}"  # the same server under a name without a rule and without sources
        place.files[f"/{KEY}.txt"] = KEY.encode()
        body = {"host": f"localhost:{port}", "key": KEY, "urlList": [f"{there}/a"]}
        body["keyLocation"] = f"{there}/{KEY}.txt"
        assert (await place.post("/indexnow", json.dumps(body))).status == 403

    run(tmp_path, test)


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff\xfe", b'{"host": 1, "key": 2, "urlList": ["x"]}'])
def test_bodies_that_are_not_notices_are_refused(tmp_path: Path, body: bytes) -> None:
    async def test(place: Place) -> None:
        answer = await place.post("/indexnow", body)
        assert answer.status == 422
        assert "\n" not in await answer.text()

    run(tmp_path, test)


def test_a_sender_with_too_many_notices_gets_429(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        answers = [(await place.post("/indexnow", b"{}")).status for _ in range(30)]
        assert answers == [422] * 20 + [429] * 10

    run(tmp_path, test, per_sender=1.0)


def test_each_sender_behind_a_proxy_has_its_own_budget(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        async def answers(*senders: str) -> list[int]:
            return [(await place.post("/indexnow", b"{}", X_Forwarded_For=who)).status for who in senders]

        assert await answers(*["6.6.6.6, 203.0.113.1"] * 22) == [422] * 20 + [429] * 2
        assert await answers("203.0.113.1, 203.0.113.2") == [422], (
            "addresses that the sender added are ignored"
        )
        assert await answers(*(f"2001:db8:1:2::{n:x}" for n in range(22))) == [422] * 20 + [429] * 2

    run(tmp_path, test, per_sender=1.0)


# --- sensors
def test_a_signed_notice_is_accepted_once(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        body = notice(place, "/feed.xml")
        signed = notice_header("s3cret", body, time.time())
        assert (await place.post("/push/notice", body, X_Newsbot_Signature=signed)).status == 202
        assert place.work() == {place.feed}
        assert (await place.post("/push/notice", body, X_Newsbot_Signature=signed)).status == 409
        assert place.due() == set()

    run(tmp_path, test, sensor_secret="s3cret")


def test_a_forged_or_an_old_notice_is_refused(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        body = notice(place, "/feed.xml")
        for signed in (
            "",
            notice_header("guessed", body, time.time()),
            notice_header("s3cret", body, time.time() - 400),
            notice_header("s3cret", body, time.time() + 400),
            notice_header("s3cret", body + b" ", time.time()),
        ):
            assert (await place.post("/push/notice", body, X_Newsbot_Signature=signed)).status == 403
        assert place.due() == set()

    run(tmp_path, test, sensor_secret="s3cret")


def test_notices_of_sensors_are_refused_without_a_secret(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        body = notice(place, "/feed.xml")
        signed = notice_header("", body, time.time())
        assert (await place.post("/push/notice", body, X_Newsbot_Signature=signed)).status == 403

    run(tmp_path, test)


# --- hints
def test_rsscloud_notices_are_accepted_for_sources_only(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        response = await place.get("/push/rsscloud", url=place.feed, challenge="c-1")
        assert (response.status, await response.text()) == (200, "c-1")
        other = await place.get("/push/rsscloud", url=f"{place.site}/other", challenge="c-1")
        assert other.status == 404
        for url in (f"{place.site}/other", "http://elsewhere.test/feed.xml", "file:///etc/passwd"):
            assert (await place.post("/push/rsscloud", {"url": url})).status == 200
        assert place.due() == set()
        await place.post("/push/rsscloud", {"url": place.feed})
        assert place.due() == {place.feed}

    run(tmp_path, test)


def test_pings_are_accepted_for_sources(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        values = ("News", place.site, f"{place.site}/other", place.feed)
        rows = "".join(f"<param><value><string>{value}</string></value></param>" for value in values)
        call = f"<methodCall><methodName>weblogUpdates.ping</methodName><params>{rows}</params></methodCall>"
        answer = await place.post("/push/ping", call)
        assert "<boolean>0</boolean>" in await answer.text()
        assert place.due() == {place.feed}
        answer = await place.post("/push/ping", "<methodCall/>")
        assert "<boolean>1</boolean>" in await answer.text()

    run(tmp_path, test)


def test_trust_is_stored_and_depends_on_crawl_results(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        for _ in range(3):
            await place.post("/push/rsscloud", {"url": place.feed})
            assert place.work() == {place.feed}
            place.count_poll(new_links=0)
            await place.review()
        (trust,) = place.trust().values()
        assert (trust["hits"], trust["misses"]) == (0, pytest.approx(3, abs=0.01))

    run(tmp_path, test)


# --- the value of a notice
@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    rules = RuleSet([Rule(domain="news.test")])
    storage, frontier = SqliteStorage(tmp_path / "newsbot.db"), SqliteFrontier(tmp_path / "newsbot.db")
    opened = Desk(storage, frontier, rules, per_hour=10_000)
    yield opened
    opened.close()


def fetched(desk: Desk, url: str, article: Article | None) -> None:
    """Simulate that a crawl has fetched the page, and has stored its article if it has one."""
    key = fingerprint(canonicalize(url))
    page = desk.storage.pages.get([key])[key]
    page.checks, page.changes, page.last_full_fetch = page.checks + 1, page.changes + 1, time.time()
    desk.storage.pages.save([page])
    if article is not None:
        desk.storage.articles.store(article)


def story(number: int, text: str = "") -> Article:
    return make_article(f"2026/11/21/story-{number}.html", text or f"Text {number}.", source="news.test")


def test_a_notice_is_correct_if_it_led_to_an_article_or_a_version(desk: Desk) -> None:
    for number in range(3):
        url = story(number).url
        assert desk.take("sensor:x", [url], proved=True) == [Fate.QUEUED]
        fetched(desk, url, story(number))
    desk.review()
    trust = desk.ledger.trust["sensor:x"]
    assert (round(trust.hits), round(trust.misses)) == (3, 0)
    for text, right in (("Text 0.", 3), ("Another text.", 4)):
        desk.take("sensor:x", [story(0).url], proved=True)
        fetched(desk, story(0).url, story(0, text))
        desk.review()
        assert round(trust.hits) == right
    assert round(trust.misses) == 1


def test_urls_without_new_articles_reduce_the_trust(desk: Desk) -> None:
    desk.storage.articles.store(story(0))
    for number in range(20):
        url = f"{story(0).url}?x={number}"
        desk.take("sensor:x", [url], proved=True)
        fetched(desk, url, replace(story(0), url=url))  # its canonical URL is the one without the query
        desk.review()
    assert desk.ledger.trust["sensor:x"].hits == 0
    assert desk.ledger.share("sensor:x") < 0.3


@pytest.mark.parametrize("path", ["/search?q=bridge", "/tag/bridge", "/login", "/"])
def test_urls_that_do_not_look_like_articles_are_not_fetched(desk: Desk, path: str) -> None:
    assert desk.take("sensor:x", [f"https://news.test{path}"], proved=True) == [Fate.UNLIKELY]
