"""The end of a visit: in which order data is written, and how the lease ends."""

from __future__ import annotations

import pytest

from newsbot.crawl.visit import Check, Due, Ending, Found
from newsbot.errors import DataUnavailable
from newsbot.items import Kind, Link, Where
from newsbot.urls import fingerprint
from tests.builders import START, fill

STORY = "https://news.test/politics/2026/11/the-council-met-and-talked-about-a-bridge"
FEED = "https://news.test/feed.xml"
HOUR = 3600.0


def links_to(*urls, where=Where.FEED, referrer=FEED):
    found = tuple(Link(url=url, where=where, text="The council met and talked of a bridge") for url in urls)
    return Found(links=found, referrer=referrer, depth=1)


def good(visit, digest="d1"):
    fill(visit, status=200)
    fill(visit, content_hash=digest, content_type="text/html", content_length=10, etag='"e"')
    return visit


def page(desk, url):
    key = fingerprint(url)
    return desk.context.storage.pages.get([key]).get(key)


def known(desk, url):
    key = fingerprint(url)
    return desk.context.frontier.known([key]).get(key)


def test_a_good_visit_is_recorded_and_acknowledged(desk):
    visit = good(desk.visit(STORY))
    fill(visit, links_count=3, server="nginx", last_modified="yesterday", content_length=12)
    desk.clock.now += 5
    desk.settle(visit)
    record = page(desk, STORY)
    assert (record.state, record.http_status, record.checks, record.failures) == ("done", 200, 1, 0)
    assert (record.etag, record.server, record.last_modified) == ('"e"', "nginx", "yesterday")
    assert (record.content_type, record.content_length, record.links_count) == ("text/html", 12, 3)
    assert record.last_fetched == record.last_full_fetch == START + 5
    assert record.content_hash == "d1"
    assert record.next_due == START + 5 + 86400
    assert known(desk, STORY).state == "done"
    assert known(desk, STORY).next_due == record.next_due
    assert [event["event"] for event in record.history] == ["discovered", "planned"]
    assert desk.stat("frontier/acked") == 1


def test_changes_are_counted_from_the_second_text_on(desk):
    for digest, changes in (("one", 0), ("one", 0), ("two", 1), ("three", 2)):
        desk.settle(good(desk.visit(STORY), digest))
        assert page(desk, STORY).changes == changes
    assert page(desk, STORY).checks == 4


def test_not_modified_keeps_the_text_and_the_time_of_the_last_body(desk):
    desk.settle(good(desk.visit(STORY)))
    visit = desk.visit(STORY)
    fill(visit, status=304)
    desk.clock.now += 100
    desk.settle(visit)
    record = page(desk, STORY)
    assert (record.last_fetched, record.last_full_fetch) == (START + 100, START)
    assert (record.content_hash, record.changes, record.etag) == ("d1", 0, '"e"')


def test_links_are_queued_before_the_lease_is_released(desk, monkeypatch):
    visit = good(desk.visit(FEED, Kind.FEED))
    visit.found.append(links_to(STORY))

    def locked(records):
        raise DataUnavailable("locked")

    with monkeypatch.context() as patch:
        patch.setattr(desk.context.storage.pages, "save", locked)
        with pytest.raises(DataUnavailable):
            desk.settle(visit)
    assert known(desk, STORY).state == "pending"
    assert known(desk, FEED).state == "leased"
    desk.settle(visit)
    assert known(desk, FEED).state == "done"


@pytest.mark.parametrize("where", ["pages", "sources", "frontier"])
def test_a_fault_between_the_steps_counts_the_visit_once(desk, monkeypatch, where):
    desk.settle(good(desk.visit(FEED, Kind.FEED)))
    visit = good(desk.visit(FEED, Kind.FEED), "d2")
    visit.found.append(links_to(STORY))

    def locked(*_, **__):
        raise DataUnavailable("locked")

    with monkeypatch.context() as patch:
        if where == "frontier":
            patch.setattr(desk.context.frontier, "ack_all", locked)
        else:
            patch.setattr(getattr(desk.context.storage, where), "save", locked)
        with pytest.raises(DataUnavailable):
            desk.settle(visit)
    desk.settle(visit)
    record = page(desk, FEED)
    assert (record.checks, record.changes) == (2, 1)
    [source] = desk.context.storage.sources.all("news.test")
    assert (source.polls, source.new_links) == (2, 1)


def test_a_temporary_fault_delays_the_url(desk):
    visit = desk.visit(STORY)
    fill(visit, error="timeout")
    desk.settle(visit)
    record = page(desk, STORY)
    assert (record.failures, record.last_fetched, record.state) == (1, None, "pending")
    assert known(desk, STORY).state == "pending"
    at = desk.context.frontier.outlook(horizon=START + 3600).next_at
    assert START + 5 <= at <= START + 15  # 10 s, changed randomly by up to half
    assert record.history[-1]["event"] == "retry"
    assert (desk.stat("frontier/nacked"), desk.stat("frontier/acked")) == (1, 0)
    desk.clock.now = at
    [again] = desk.context.frontier.lease("test", 1, horizon=at, ttl=60)
    assert again.attempts == 1


def test_retry_after_is_obeyed(desk):
    visit = desk.visit(STORY)
    fill(visit, status=429, error="http_429", retry_after=500.0)
    desk.settle(visit)
    assert desk.context.frontier.outlook(horizon=START + 3600).next_at == START + 500
    assert page(desk, STORY).last_fetched == START


def test_the_scale_of_retries_is_a_setting(make_desk):
    desk = make_desk(settings={"NEWSBOT_RETRY_SCALE": 0.01})
    visit = desk.visit(STORY)
    fill(visit, error="timeout")
    desk.settle(visit)
    assert desk.context.frontier.outlook(horizon=START + 3600).next_at <= START + 0.15


def test_after_the_last_attempt_the_plan_decides(desk):
    for attempt in range(4):
        visit = desk.visit(STORY)
        assert visit.lease.attempts == attempt
        fill(visit, error="timeout")
        desk.settle(visit)
        desk.clock.now += 3600
    record = page(desk, STORY)
    assert (record.state, record.failures) == ("failed", 4)
    assert known(desk, STORY).state == "done"
    assert record.next_due > START + 3 * 3600


def test_a_permanent_fault_is_not_retried(desk):
    visit = desk.visit(STORY)
    fill(visit, status=404, error="http_404")
    desk.settle(visit)
    record = page(desk, STORY)
    assert (record.state, record.http_status, record.failures) == ("gone", 404, 1)
    assert record.content_hash is None
    assert known(desk, STORY).state == "done"


def test_an_internal_fault_is_retried(desk):
    visit = good(desk.visit(STORY))
    visit.end(Ending.FAULT)
    desk.settle(visit)
    assert known(desk, STORY).state == "pending"
    assert page(desk, STORY).history[-1]["cause"] == "ours"


def test_a_page_that_is_too_young_keeps_its_record(desk):
    desk.settle(good(desk.visit(STORY)))
    before = page(desk, STORY)
    desk.clock.now += 60
    visit = desk.visit(STORY)
    fill(visit, error="too_young")
    fill(visit, due=Due(START + 86400))
    desk.settle(visit)
    record = page(desk, STORY)
    assert (record.checks, record.failures, record.last_fetched) == (1, 0, before.last_fetched)
    assert record.next_due == known(desk, STORY).next_due == START + 86400


def test_a_visit_that_is_handed_back_changes_nothing(desk):
    visit = good(desk.visit(STORY))
    visit.found.append(links_to("https://news.test/other/story/2026/11/20/long-title-here-now"))
    visit.end(Ending.HELD)
    desk.settle(visit)
    assert known(desk, STORY).state == "leased"
    assert page(desk, STORY).checks == 0
    assert desk.context.frontier.counts()["pending"] == 0


def test_a_page_without_a_record_gets_one(desk):
    visit = good(desk.visit(STORY))
    visit.check = Check()
    desk.settle(visit)
    assert page(desk, STORY).http_status == 200


# --- sources
def source_of(desk):
    [source] = desk.context.storage.sources.all("news.test")
    return source


def test_polls_of_a_source_are_recorded(desk):
    visit = good(desk.visit(FEED, Kind.FEED))
    fill(visit, shown=1)
    visit.found.append(links_to(STORY))
    desk.settle(visit)
    source = source_of(desk)
    assert (source.url, source.kind, source.polls, source.new_links) == (FEED, Kind.FEED, 1, 1)
    assert (source.last_poll, source.last_new, source.unchanged) == (START, START, 0)
    assert START + 600 <= source.next_due <= START + 6 * 3600
    assert source.rhythm["last"] == START
    [(url, poll)] = desk.context.storage.sources.polls()
    assert (url, poll.at, poll.new, poll.unchanged) == (FEED, START, 1, False)
    desk.clock.now += 700
    visit = desk.visit(FEED, Kind.FEED)
    fill(visit, status=304)
    desk.settle(visit)
    source = source_of(desk)
    assert (source.polls, source.unchanged, source.new_links) == (2, 1, 1)
    assert (source.last_poll, source.last_new) == (START + 700, START)


def test_failures_of_a_source_are_counted_until_it_works_again(desk):
    for number in range(2):
        visit = desk.visit(FEED, Kind.FEED)
        fill(visit, status=404, error="http_404")
        desk.settle(visit)
        assert source_of(desk).failures == number + 1
        desk.clock.now += 100
    source = source_of(desk)
    assert (source.failing_since, source.last_error) == (START, "http_404")
    visit = desk.visit(FEED, Kind.FEED)
    fill(visit, error="too_young")
    desk.settle(visit)
    assert (source_of(desk).failures, source_of(desk).polls) == (2, 2)
    desk.settle(good(desk.visit(FEED, Kind.FEED)))
    source = source_of(desk)
    assert (source.failures, source.failing_since, source.last_error) == (0, None, None)


def test_an_article_is_not_a_source(desk):
    desk.settle(good(desk.visit(STORY)))
    assert desk.context.storage.sources.all("news.test") == []


# --- homes whose scheme was guessed
@pytest.mark.parametrize(("cause", "requested"), [("refused", True), ("robots", False)])
def test_a_guessed_home_page_is_requested_by_http_if_https_does_not_answer(make_desk, cause, requested):
    desk = make_desk({"old.test": "domain: old.test\n"})
    visit = desk.visit("https://old.test/", Kind.SECTION, where=Where.SEED)
    fill(visit, error=cause)
    desk.settle(visit)
    entry = desk.context.frontier.entry(fingerprint("https://old.test/"))
    assert entry.url == ("http://old.test/" if requested else "https://old.test/")
    state = desk.context.frontier.known([entry.fingerprint])[entry.fingerprint].state
    assert state == ("pending" if requested else "done")


def test_http_is_not_used_after_a_refused_certificate(make_desk):
    desk = make_desk({"old.test": "domain: old.test\n"})
    for _ in range(3):
        visit = desk.visit("https://old.test/", Kind.SECTION, where=Where.SEED)
        fill(visit, error="tls")
        desk.settle(visit)
        desk.clock.now += 3 * 86400
    assert desk.context.frontier.entry(fingerprint("https://old.test/")).url == "https://old.test/"


def test_only_the_home_page_that_answers_is_kept(make_desk):
    """All code that uses the record (refilling a frontier, the monitor) needs the URL that answers."""
    desk = make_desk({"old.test": "domain: old.test\n"})
    visit = desk.visit("https://old.test/", Kind.SECTION, where=Where.SEED)
    fill(visit, error="refused")
    desk.settle(visit)
    assert desk.context.storage.sources.all("old.test") == []
    (lease,) = desk.context.frontier.lease("other", 1, horizon=desk.clock.now + 5, ttl=60)
    desk.settle(good(desk.begin(lease)))
    key = fingerprint("https://old.test/")
    page = desk.context.storage.pages.get([key])[key]
    assert (page.url, page.host, page.failures) == ("http://old.test/", "old.test", 0)
    (source,) = desk.context.storage.sources.all("old.test")
    assert (source.url, source.failures, source.polls) == ("http://old.test/", 0, 1)


def test_a_worker_killed_before_the_next_guess_is_queued_leaves_the_home_page_due(make_desk, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*_):
        raise Killed

    desk = make_desk({"old.test": "domain: old.test\n"})
    visit = desk.visit("https://old.test/", Kind.SECTION, where=Where.SEED)
    fill(visit, error="refused")
    with monkeypatch.context() as patch:
        patch.setattr(desk.crawl.links, "queue", killed)
        with pytest.raises(Killed):
            desk.settle(visit)
    (lease,) = desk.context.frontier.lease("other", 1, horizon=desk.clock.now + 5, ttl=60)
    again = desk.begin(lease)
    fill(again, error="refused")
    desk.settle(again)
    assert desk.context.frontier.entry(fingerprint("https://old.test/")).url == "http://old.test/"


def test_a_home_page_that_never_answers_is_given_up_after_its_attempts(make_desk):
    desk = make_desk({"old.test": "domain: old.test\n"})
    visit = desk.visit("https://old.test/", Kind.SECTION, where=Where.SEED)
    tried = ["https://old.test/"]
    while len(tried) < 20:
        fill(visit, error="refused")
        desk.settle(visit)
        desk.clock.now += 3600
        leases = desk.context.frontier.lease("test", 1, horizon=START + 9 * 60, ttl=60)
        if not leases:
            break
        tried.append(leases[0].entry.url)
        visit = desk.begin(leases[0])
    www = ["https://www.old.test/", *["http://www.old.test/"] * 3]  # the last guess has all attempts
    assert tried == ["https://old.test/", "http://old.test/", *www]


def rests(desk, url, *, where, new=0):
    """Return how long a section rests after a visit with this many new links."""
    visit = desk.visit(url, Kind.SECTION, where=where, why="list")
    fill(visit, status=200, new_items=new, shown=20)
    desk.settle(visit)
    return page(desk, url).next_due - desk.clock()


def test_lists_rest_longer_each_time_they_have_no_new_links_but_home_pages_do_not(desk):
    for url in ("https://news.test/city/page/7/", "https://news.test/2026/09/"):
        seen = []
        for _ in range(9):
            seen.append(rests(desk, url, where=Where.BODY))
            desk.clock.now += seen[-1]
        assert seen[:3] == [6 * HOUR, 12 * HOUR, 24 * HOUR]
        assert seen[-1] == 30 * 24 * HOUR
        assert rests(desk, url, where=Where.BODY, new=2) == 6 * HOUR
    for url in ("https://news.test/city/", "https://news.test/archive/"):
        for _ in range(4):
            assert rests(desk, url, where=Where.BODY) <= 6 * HOUR
            desk.clock.now += 6 * HOUR
    named = "https://news.test/sport/page/2/"
    for _ in range(4):
        assert rests(desk, named, where=Where.SEED) <= 6 * HOUR
        desk.clock.now += 6 * HOUR


def test_a_fixed_interval_is_used_unchanged(make_desk):
    rule = "domain: news.test\ninterval: {feed: 2h}\nrecrawl: {feed: fixed}\n"
    desk = make_desk({"news.test": rule})
    visit = desk.visit(FEED, Kind.FEED)
    fill(visit, status=200, shown=20, new_items=20)
    fill(visit, max_age=24 * HOUR, ttl=24 * HOUR)
    fill(visit, skip_hours=frozenset(range(24)))
    desk.settle(visit)
    assert page(desk, FEED).next_due - desk.clock() == 2 * HOUR
