"""Handling of notices without a network: subscriptions, IndexNow, pings, budgets, trust."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import document_fromstring

from newsbot.apps.operations.notifier_trust import HALF_LIFE, LEAST, Budget, Ledger, Trust
from newsbot.apps.push import protocols
from newsbot.apps.push import protocols as hints
from newsbot.apps.push.protocols import SeenOnce
from newsbot.pages.discovery.autodiscovery import hubs_in, topic_and_hubs
from tests.builders import ManualClock

TOPIC, HUB = "https://news.test/feed.xml", "https://hub.test/"
ASK = {"hub.mode": "subscribe", "hub.topic": TOPIC, "hub.challenge": "x1", "hub.lease_seconds": "1000"}


def wanted() -> protocols.Subscription:
    return protocols.subscribe(TOPIC, HUB, TOPIC)


def pending() -> protocols.Subscription:
    return protocols.was_asked(wanted(), 100.0)


def verified() -> protocols.Subscription:
    return protocols.verify_intent(pending(), ASK, 200.0, 0.5)[0]


# --- WebSub
def test_tokens_and_secrets_are_unique() -> None:
    made = [wanted() for _ in range(50)]
    assert len({one.token for one in made} | {one.secret for one in made}) == 100
    assert min(len(one.token) for one in made) >= 43


def test_a_requested_subscription_is_verified() -> None:
    confirmed, echo = protocols.verify_intent(pending(), ASK, 200.0, 0.5)
    assert echo == "x1"
    assert (confirmed.state, confirmed.until) == ("verified", 1200.0)
    assert 200 + 800 <= confirmed.renew_at <= 200 + 900


@pytest.mark.parametrize(
    "change",
    [
        {"hub.topic": "https://news.test/other.xml"},
        {"hub.mode": "unsubscribe"},
        {"hub.mode": "publish"},
        {"hub.challenge": ""},
        {"hub.lease_seconds": "soon"},
        {"hub.lease_seconds": "-5"},
        {"hub.lease_seconds": ""},
    ],
)
def test_an_unrequested_subscription_is_not_verified(change: dict[str, str]) -> None:
    assert protocols.verify_intent(pending(), ASK | change, 200.0, 0.5) == (pending_like(), None)


def pending_like() -> Any:
    class Same:
        def __eq__(self, other: object) -> bool:
            return isinstance(other, protocols.Subscription) and other.state == "pending"

        __hash__ = None  # type: ignore[assignment]  # only compared

    return Same()


@pytest.mark.parametrize("subscription", [wanted(), verified()])
def test_only_a_pending_subscription_is_verified(subscription: protocols.Subscription) -> None:
    assert protocols.verify_intent(subscription, ASK, 300.0, 0.5) == (subscription, None)


@given(seconds=st.integers(1, 10**11), spread=st.floats(0, 1))
def test_leases_are_bounded_and_renewed_before_their_end(seconds: int, spread: float) -> None:
    confirmed, _ = protocols.verify_intent(pending(), ASK | {"hub.lease_seconds": str(seconds)}, 0.0, spread)
    assert protocols.SHORTEST <= confirmed.until <= protocols.LONGEST
    assert 0.8 * confirmed.until <= confirmed.renew_at <= 0.9 * confirmed.until + 1e-6


def test_requests_to_a_failing_hub_become_rarer() -> None:
    subscription, pauses = wanted(), []
    for _ in range(15):
        subscription = protocols.was_asked(subscription, 1000.0, "HTTP 500")
        pauses.append(subscription.renew_at - 1000.0)
    assert pauses[:3] == [60, 120, 240]
    assert pauses == sorted(pauses)
    assert pauses[-1] == protocols.MAX_PAUSE
    assert subscription.state == "wanted"


def test_a_denial_ends_only_the_subscription_of_its_topic() -> None:
    denial = {"hub.mode": "denied", "hub.topic": TOPIC, "hub.reason": "no"}
    denied = protocols.deny(verified(), denial, 300.0)
    assert (denied.state, denied.is_live, denied.reason) == ("denied", False, "no")
    assert protocols.deny(verified(), denial | {"hub.topic": HUB}, 300.0).state == "verified"


def test_an_expired_lease_is_renewed() -> None:
    assert protocols.end_of_lease(verified(), 1300.0).state == "wanted"
    assert protocols.end_of_lease(verified(), 1100.0).state == "verified"


def test_signatures_are_accepted_only_for_valid_subscriptions() -> None:
    live = replace(verified(), secret="Jefe")
    body = b"what do ya want for nothing?"
    header = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    weak = "sha1=effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
    seen, genuine = protocols.is_genuine(live, header, body, 300.0)
    assert (genuine, seen.method) == (True, "sha256")
    assert protocols.is_genuine(seen, weak, body, 300.0) == (seen, False)
    assert not protocols.is_genuine(live, None, body, 300.0)[1]
    assert not protocols.is_genuine(live, header, body, 1300.0)[1]
    assert not protocols.is_genuine(replace(live, state="denied"), header, body, 300.0)[1]
    assert protocols.is_genuine(protocols.was_asked(live, 900.0), header, body, 950.0)[1], (
        "valid during the renewal"
    )


def test_a_subscription_is_unchanged_after_writing_and_reading() -> None:
    assert protocols.Subscription(**json.loads(json.dumps(asdict(verified())))).is_live


# --- finding the hub
def test_link_headers_have_precedence_over_the_document() -> None:
    headers = [
        '</feed>; rel="self", <https://a.test/hub>; rel=hub',
        '<https://b.test/>; title="x"; rel="hub"',
    ]
    assert topic_and_hubs(headers, "https://n.test/f", ["https://c.test/"], "https://n.test/z") == (
        "https://n.test/feed",
        ["https://a.test/hub", "https://b.test/", "https://c.test/"],
    )
    assert topic_and_hubs([], "https://n.test/f", [], None) is None
    assert topic_and_hubs(["<" * 10_000], "https://n.test/f", ["https://c.test/"], None) == (
        "https://n.test/f",
        ["https://c.test/"],
    )


def test_only_hubs_in_the_head_of_a_page_are_used() -> None:
    page = (
        '<html><head><link rel="hub" href="/hub"><link rel="SELF" href="https://n.test/"></head>'
        '<body><p>x</p><a rel="hub" href="/evil">x</a><link rel="hub" href="/evil2"></body></html>'
    )
    assert hubs_in(document_fromstring(page), "https://n.test/a") == (
        ["https://n.test/hub"],
        "https://n.test/",
    )


# --- IndexNow
def notice(**change: Any) -> bytes:
    document = {"host": "news.test", "key": "abcdef12", "urlList": ["https://news.test/a"]}
    return json.dumps(document | change).encode()


def test_a_notice_names_its_key_file() -> None:
    parsed = protocols.of_json(notice())
    assert parsed.key_location == "https://news.test/abcdef12.txt"
    parsed = protocols.of_query({"url": "http://news.test/b?x=1", "key": "abcdef12"})
    assert (parsed.host, parsed.urls) == ("news.test", ("http://news.test/b?x=1",))
    assert parsed.key_location == "http://news.test/abcdef12.txt"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        notice(key="short"),
        notice(key="with space in it"),
        notice(key=["abcdef12"]),
        notice(urlList=[]),
        notice(urlList="https://news.test/a"),
        notice(urlList=["https://news.test/a", "https://other.test/a"]),
        notice(urlList=["https://news.test/a", 5]),
        notice(urlList=["https://news.test/a"] * (protocols.MAX_URLS + 1)),
        notice(keyLocation="https://other.test/abcdef12.txt"),
        notice(keyLocation="https://news.test/deep/abcdef12.txt"),
        notice(keyLocation="file:///etc/passwd"),
        notice(host="news.test@evil.test"),
        notice(host="127.0.0.1"),
        notice(host=""),
    ],
)
def test_bad_notices_are_refused(body: bytes) -> None:
    with pytest.raises(protocols.BadNotice):
        protocols.of_json(body)


@pytest.mark.parametrize(
    ("body", "right"),
    [
        (b"abcdef12", True),
        (b"\xef\xbb\xbfabcdef12\r\n", True),
        (b"abcdef123", False),
        (b"<html>abcdef12", False),
    ],
)
def test_key_files(body: bytes, right: bool) -> None:
    assert protocols.is_key_file(body, "abcdef12") is right


# --- hints
PING = (
    "<?xml version='1.0'?><methodCall><methodName>weblogUpdates.{method}</methodName><params>"
    "<param><value><string>News</string></value></param><param><value>https://news.test/</value></param>"
    "<param><value>https://news.test/a</value></param><param><value>https://news.test/feed.xml</value></param>"
    "</params></methodCall>"
)


def test_urls_of_pings() -> None:
    urls = ["https://news.test/", "https://news.test/a", "https://news.test/feed.xml"]
    assert hints.pinged(PING.format(method="extendedPing").encode()) == urls
    assert hints.pinged(PING.format(method="ping").encode()) == urls


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        PING.format(method="pong").encode(),
        PING.format(method="ping").replace("https://", "file://").encode(),
        b'<!DOCTYPE a [<!ENTITY b "c">]>' + PING.format(method="ping").encode(),
        b"<a>" * 50_000,
    ],
)
def test_bodies_that_are_not_pings(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"XML-RPC|weblogUpdates"):
        hints.pinged(body)


# --- bounds
@given(steps=st.lists(st.floats(0, 600), min_size=1, max_size=200))
def test_a_budget_is_never_exceeded(steps: list[float]) -> None:
    clock = ManualClock(0.0)
    budget = Budget(60, 10, clock)
    taken = 0
    for step in steps:
        clock.now += step
        taken += budget.take("host")
    assert taken <= 10 + sum(steps) / 60 + 1e-6


def test_a_clock_that_was_ahead_does_not_block_senders() -> None:
    clock = ManualClock(30 * 86400.0)
    budget, seen = Budget(60, 10, clock), SeenOnce(10, clock)
    assert budget.take("a")
    assert seen.is_new(b"a")
    clock.now = 0.0
    assert [budget.take("a") for _ in range(10)] == [True] * 9 + [False]
    assert not seen.knows(b"a")


def test_notices_of_untrusted_senders_cost_more() -> None:
    clock = ManualClock(0.0)
    budget = Budget(3600, 10, clock)
    assert [budget.take("a", 0.2) for _ in range(3)] == [True, True, False]
    assert [budget.take("b", 1.0) for _ in range(11)] == [True] * 10 + [False]
    assert not budget.take("c", 0.0)


def test_a_reserve_is_kept_for_other_requests() -> None:
    clock = ManualClock(0.0)
    budget = Budget(3600, 10, clock)
    assert [budget.take("a", reserve=0.5) for _ in range(7)] == [True] * 5 + [False] * 2
    assert [budget.take("a") for _ in range(6)] == [True] * 5 + [False]
    clock.now += 10
    assert [budget.take("a", reserve=1.0) for _ in range(2)] == [True, False], "a full bucket allows one"


def test_seen_once() -> None:
    clock = ManualClock(0.0)
    seen = SeenOnce(10, clock)
    assert [seen.is_new(b"a"), seen.is_new(b"a"), seen.is_new(b"b")] == [True, False, True]
    clock.now += 11
    assert not seen.knows(b"a")
    assert seen.is_new(b"a")


def test_trust_depends_on_recent_notices() -> None:
    trust = Trust(at=0.0)
    assert trust.share() == 1.0
    for _ in range(100):
        trust.tell(0.0, new=False)
    assert trust.share() < 0.1
    for _ in range(5000):
        trust.tell(0.0, new=False)
    assert trust.share() == LEAST
    trust.tell(20 * HALF_LIFE, new=True)
    assert trust.share() == 1.0
    assert Trust(**asdict(trust)) == trust


def test_the_ledger_counts_announced_and_missed_changes() -> None:
    clock = ManualClock(0.0)
    ledger = Ledger(clock)
    ledger.expect("hub", "feed", 5, 50)
    ledger.noticed("hub", "feed", 5, 50)
    ledger.observe("feed", 5, 50)
    assert not ledger.changed, "the page has not been fetched yet"
    ledger.observe("feed", 6, 53)
    ledger.observe("feed", 7, 54)  # a regular poll with new links
    ledger.observe("feed", 8, 54)  # and one without
    ledger.noticed("hub", "feed", 8, 54)
    ledger.observe("feed", 9, 54)
    trust = ledger.trust["hub"]
    assert (trust.hits, trust.misses, trust.told, trust.untold) == (1, 1, 1, 1)
    assert trust.recall() == 0.5
