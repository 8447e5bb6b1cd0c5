"""Conversion of a link to an entry and back keeps all data of the link."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.crawl.entries import MAX_TITLE, entry_for, page_for
from newsbot.crawl.visit import Visit
from newsbot.frontier.base import Lease
from newsbot.items import Kind, Link, Where
from newsbot.pages.rules.rule import Rule
from newsbot.ranking.judging import Judgement
from newsbot.urls import canonicalize, fingerprint
from tests.builders import START

RULE = Rule(domain="news.test", drop_query=("ref",))
VERDICT = Judgement(kind=Kind.ARTICLE, priority=77.5, accepted=True, reason="likely_article")
ZONES = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=ZONES)
LINKS = st.builds(
    Link,
    url=st.sampled_from(("https://news.test/a?id=1&ref=x", "http://www.news.test/б/", "https://other.test")),
    where=st.sampled_from(Where),
    text=st.none() | st.text(max_size=2 * MAX_TITLE),
    published_at=st.none() | TIMES,
    authors=st.lists(st.text(max_size=20), max_size=3).map(tuple),
)


def entry_of(link, referrer=None, **more):
    return entry_for(link, RULE, VERDICT, depth=2, referrer=referrer, now=START, **more)


def visit_of(entry):
    data = json.loads(json.dumps(entry.data))
    assert data == entry.data
    lease = Lease(entry=entry, owner="me", token="t", deadline=START, attempts=0)
    return Visit(lease=lease, rule=RULE, started=START + 50)


@given(LINKS, st.none() | st.text(max_size=20), st.booleans())
def test_data_of_a_link_survives_the_frontier(link, referrer, force):
    visit = visit_of(entry_of(link, referrer, force=force))
    hint = visit.hint()
    assert (hint.url, hint.where, hint.kind) == (link.url, link.where, Kind.ARTICLE)
    assert (hint.text or "") == (link.text or "")[:MAX_TITLE]
    moment = link.published_at
    assert hint.published_at == (moment and moment.astimezone(UTC).replace(microsecond=0))
    assert hint.authors == link.authors
    assert visit.forced is force
    assert visit.discovered_at() == START


def test_the_url_stays_unchanged_and_its_fingerprint_ignores_dropped_query_keys():
    entry = entry_of(Link(url="https://NEWS.test/a?ref=x&id=1", where=Where.BODY))
    assert entry.url == "https://NEWS.test/a?ref=x&id=1"
    assert entry.fingerprint == fingerprint(canonicalize("https://news.test/a?id=1"))
    assert entry.host == "news.test"
    assert (entry.kind, entry.priority, entry.depth, entry.due) == (Kind.ARTICLE, 77.5, 2, 0.0)
    assert entry.data["why"] == "likely_article"
    assert entry.data["source"] == "news.test"


def test_a_long_title_is_cut():
    entry = entry_of(Link(url="https://news.test/a", where=Where.BODY, text="x" * (MAX_TITLE + 1)))
    assert entry.data["title"] == "x" * MAX_TITLE


@pytest.mark.parametrize("url", ["mailto:a@news.test", "/relative", "https://", "http://[1/"])
def test_an_address_that_cannot_be_fetched_is_refused(url):
    with pytest.raises(ValueError, match=r"\w"):
        entry_of(Link(url=url, where=Where.BODY))


def test_the_page_record_begins_with_its_discovery():
    entry = entry_of(Link(url="https://news.test/a", where=Where.FEED), "https://news.test/feed")
    page = page_for(entry, START + 1)
    assert (page.url, page.fingerprint, page.host) == (entry.url, entry.fingerprint, entry.host)
    assert (page.source, page.kind, page.depth, page.state) == ("news.test", Kind.ARTICLE, 2, "pending")
    assert (page.referrers, page.referrer_count) == (["https://news.test/feed"], 1)
    assert page.first_seen == START + 1
    [event] = page.history
    assert event == {
        "at": START + 1,
        "event": "discovered",
        "where": "feed",
        "referrer": "https://news.test/feed",
        "why": "likely_article",
        "given_by": "news.test",
    }
    lonely = page_for(entry_of(Link(url="https://news.test/b", where=Where.SEED)), START)
    assert (lonely.referrers, lonely.referrer_count) == ([], 0)
