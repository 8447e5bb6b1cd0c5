"""From found links to queued URLs: how links are judged, which are rejected, and what is written."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta

import pytest

from newsbot import urls as urls_module
from newsbot.clock import utc
from newsbot.crawl.links import queue as intake
from newsbot.crawl.links.judge import ASKED_PRIORITY
from newsbot.crawl.visit import Found, Visit
from newsbot.frontier.base import Entry, EntryData
from newsbot.items import Kind, Link, Where
from newsbot.ranking.families import FamilyNotes, Result, State, family_of, list_family
from newsbot.urls import fingerprint
from tests.builders import START, fill

HEADLINE = "The council met and talked about a bridge"
STORY = "https://news.test/politics/2026/11/the-council-met-and-talked-about-a-bridge"
FEED = "https://news.test/feed.xml"
SECTION = "https://news.test/politics/"
NOW = utc(START)
OTHER_RULE = {
    "news.test": f"domain: news.test\nfeeds: {FEED}\nsections: {SECTION}\n",
    "other.test": "domain: other.test\nfeeds: https://other.test/feed\ndelay: 9\nconcurrency: 2\n",
}


def story(number, host="news.test"):
    return f"https://{host}/politics/2026/11/the-council-met-and-talked-about-bridge-number-{number}"


def opened(desk, *hosts):
    """Make all families of stories on these hosts open."""
    for host in hosts or ("news.test",):
        for address in (STORY, story(1, host), story(2, host)):
            result = Result(family=family_of(address), is_opened=True)
            desk.crawl.sites.families.add(desk.context.notes, host.removeprefix("www."), result)
    return desk


def found(*urls, where=Where.BODY, kind=None, depth=1, force=False, referrer=SECTION, **more):
    links = tuple(Link(url=url, where=where, kind=kind, text=HEADLINE, **more) for url in urls)
    return Found(links=links, referrer=referrer, depth=depth, force=force)


def rejected(desk):
    prefix = "newsbot/links/rejected/"
    stats = desk.crawler.stats.get_stats()
    return {name.removeprefix(prefix): value for name, value in stats.items() if name.startswith(prefix)}


def entry(desk, url):
    return desk.context.frontier.entry(fingerprint(url))


@pytest.fixture
def section(make_desk):
    """A desk that visits a section front."""
    desk = make_desk(OTHER_RULE)
    desk.front = desk.visit(SECTION, Kind.SECTION, where=Where.SEED, depth=0)
    return desk


def test_a_long_sitemap_is_queued_in_parts(make_desk, monkeypatch):
    """The parts limit memory: pages, entries and verdicts of 50,000 links together took 94 MB."""
    monkeypatch.setattr(intake, "LINKS_AT_ONCE", 40)
    monkeypatch.setattr(
        "newsbot.urls._split", urls_module._split.__wrapped__
    )  # without the cache, which has a limit of its own
    desk = make_desk({"news.test": "domain: news.test\n"})
    sitemap = "https://news.test/sitemap.xml"
    visit = desk.visit(sitemap, Kind.SITEMAP, where=Where.SEED, depth=0)
    urls = [story(number) for number in range(800)]
    whole = found(*urls, urls[0], where=Where.NEWS_SITEMAP, kind=Kind.ARTICLE, referrer=sitemap)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        assert desk.crawl.links.queue(whole, visit) == len(urls)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 800_000
    assert desk.stat("links/found") == len(urls) + 1
    assert desk.context.storage.pages.get([fingerprint(urls[-1])])
    assert entry(desk, urls[-1]) is not None


def test_found_links_are_recorded_and_queued(section):
    opened(section)
    assert section.crawl.links.queue(found(STORY), section.front) == 1
    queued = entry(section, STORY)
    assert (queued.kind, queued.depth, queued.data["referrer"]) == (Kind.ARTICLE, 1, SECTION)
    assert queued.data["title"] == HEADLINE
    [record] = section.context.storage.pages.get([queued.fingerprint]).values()
    assert (record.state, record.referrers, record.first_seen) == ("pending", [SECTION], START)
    assert (section.stat("links/found"), section.stat("links/new"), section.stat("links/known")) == (1, 1, 0)


def test_known_links_are_counted_as_known_and_their_referrer_is_kept(section):
    opened(section)
    section.crawl.links.queue(found(STORY), section.front)
    again = found(STORY, STORY + "?utm_source=x", referrer="https://news.test/other")
    assert section.crawl.links.queue(again, section.front) == 0
    assert (section.stat("links/found"), section.stat("links/known")) == (3, 1)
    [record] = section.context.storage.pages.get([fingerprint(STORY)]).values()
    assert record.referrers == [SECTION, "https://news.test/other"]


def test_a_page_record_is_written_before_its_entry(section, monkeypatch):
    """In the other order, a crash would leave an entry without a record of its origin."""
    opened(section)
    written = []
    for backend, method in ((section.context.storage.pages, "discover"), (section.context.frontier, "add")):
        original = getattr(backend, method)

        def recorder(*arguments, _original=original, _method=method, **more):
            written.append(_method)
            return _original(*arguments, **more)

        monkeypatch.setattr(backend, method, recorder)
    section.crawl.links.queue(found(STORY), section.front)
    assert written == ["discover", "add"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://elsewhere.test/2026/11/a-long-headline-of-many-words", "offsite"),
        ("mailto:a@news.test", "bad_url"),
        ("https://news.test:99999/", "bad_url"),
    ],
)
def test_refused_links_are_counted_by_reason_and_not_queued(section, url, reason):
    assert section.crawl.links.queue(found(url), section.front) == 0
    assert rejected(section) == {reason: 1}
    assert section.context.frontier.counts()["pending"] == 0


def test_a_page_does_not_queue_itself(section):
    *_, batch = section.crawl.judge.judge(found(SECTION + "?utm_source=x", kind=Kind.SECTION), section.front)
    assert not batch.entries
    assert not batch.rejected


def test_too_deep_links_are_refused(section):
    assert section.crawl.links.queue(found(STORY, depth=6), section.front) == 0
    assert rejected(section) == {"too_deep": 1}


# --- sources from rules are not judged
def test_urls_of_rules_and_users_are_fetched_whatever_they_look_like(make_desk):
    desk = make_desk(OTHER_RULE)
    desk.crawl.links.queue(found("https://news.test/about", where=Where.SEED, kind=Kind.FEED, depth=0))
    desk.crawl.links.queue(found("https://x.test/login", where=Where.ARGUMENT, force=True, depth=0))
    assert (entry(desk, "https://news.test/about").kind, entry(desk, "https://news.test/about").priority) == (
        Kind.FEED,
        90.0,
    )
    requested = entry(desk, "https://x.test/login")
    assert (requested.kind, requested.priority, requested.data["force"]) == (
        Kind.ARTICLE,
        ASKED_PRIORITY,
        True,
    )
    assert all(desk.crawl.sources.of(site).any for site in ("news.test", "other.test"))


def test_a_user_can_request_a_known_page_again(section):
    visit = section.visit(STORY)
    fill(visit, status=200)
    section.settle(visit)
    ask = found(STORY, where=Where.ARGUMENT)
    assert section.crawl.links.queue(ask) == 0
    assert section.context.frontier.counts()["pending"] == 0
    section.crawl.links.queue(found(STORY, where=Where.ARGUMENT, force=True))
    assert section.context.frontier.counts()["pending"] == 1


def test_a_site_with_a_discovered_feed_has_sources(make_desk):
    desk = make_desk({"bare.test": "domain: bare.test\n"})
    visit = desk.visit("https://bare.test/", Kind.SECTION, where=Where.SEED, depth=0)
    assert not desk.crawl.sources.of("bare.test").any
    desk.crawl.links.queue(found("https://bare.test/rss", where=Where.AUTODISCOVERY, kind=Kind.FEED), visit)
    assert desk.crawl.sources.of("bare.test").any
    assert entry(desk, "https://bare.test/rss").kind is Kind.FEED


# --- politeness of hosts
def test_a_new_host_gets_the_politeness_of_its_rule_once(section, monkeypatch):
    calls = []
    monkeypatch.setattr(
        section.context.frontier, "set_politeness", lambda host, **values: calls.append((host, values))
    )
    section.crawl.links.queue(found(story(1, "other.test"), where=Where.ARGUMENT))
    section.crawl.links.queue(found(story(2, "other.test"), where=Where.ARGUMENT))
    assert calls == [("other.test", {"delay": 9.0, "concurrency": 2, "at_least": True})]


def test_hosts_outside_the_scope_are_accepted_if_this_crawl_found_them(make_desk):
    desk = make_desk(OTHER_RULE, sites=("news.test",))
    assert not desk.crawl.scope.accepts("cdn.test")
    desk.crawl.links.queue(found("https://cdn.test/feed", where=Where.SEED, kind=Kind.FEED, depth=0))
    assert desk.crawl.scope.accepts("cdn.test")


# --- other sites
@pytest.mark.parametrize(
    ("where", "host", "taken"),
    [
        (Where.FEED, "other.test", True),  # an item of a feed, on a site with a rule
        (Where.NEWS_SITEMAP, "other.test", True),
        (Where.BODY, "other.test", False),
        (Where.FEED, "elsewhere.test", False),
        (Where.FEED, "www.news.test", True),
        (Where.BODY, "www.news.test", True),
    ],
)
def test_only_feeds_can_link_to_other_sites_and_only_to_sites_with_rules(make_desk, where, host, taken):
    desk = opened(make_desk(OTHER_RULE), host)
    visit = desk.visit(FEED, Kind.FEED, where=Where.AUTODISCOVERY)
    assert desk.crawl.links.queue(found(story(1, host), where=where), visit) == taken
    assert rejected(desk) == ({} if taken else {"offsite": 1})


def test_items_of_a_feed_of_a_rule_may_be_on_any_site(make_desk):
    rules = {"feeds.test": "domain: feeds.test\nfeeds: https://feeds.test/rss\n"}
    desk = make_desk(rules, sites=("feeds.test",))
    visit = desk.visit("https://feeds.test/rss", Kind.FEED, where=Where.SEED)
    assert desk.crawl.links.queue(found(story(1, "elsewhere.test"), where=Where.FEED), visit) == 1
    assert desk.crawl.scope.accepts("elsewhere.test"), (
        "the host must be accepted even in a crawl of that site only"
    )
    assert desk.crawl.links.queue(found(story(2, "elsewhere.test")), visit) == 0, (
        "a link is not an item of the feed"
    )


def test_links_of_a_section_that_redirects_to_another_site_are_ignored(make_desk):
    desk = opened(make_desk(), "elsewhere.test")
    for where, taken in ((Where.NAVIGATION, 0), (Where.SEED, 1)):
        visit = desk.visit(f"https://news.test/jobs-{taken}/", Kind.SECTION, where=where)
        fill(visit, url="https://jobs.elsewhere.test/")
        assert desk.crawl.links.queue(found(story(1, "elsewhere.test")), visit) == taken


def test_a_source_on_any_host_belongs_to_the_rule_that_names_it(make_desk):
    desk = make_desk(OTHER_RULE)
    link = Link(url="https://feeds.test/news", where=Where.SEED, kind=Kind.FEED)
    desk.crawl.links.queue(Found(links=(link,), referrer=None, depth=0, site="news.test"))
    assert entry(desk, "https://feeds.test/news").data["source"] == "news.test"


# --- what is followed
def visit_on(desk, kind):
    data: EntryData = {"source": "news.test", "where": "feed", "why": "feed"}
    on = Entry(url=SECTION, fingerprint=b"x" * 16, host="news.test", kind=kind, data=data)
    lease = desk.visit(STORY).lease
    object.__setattr__(lease, "entry", on)
    return Visit(lease=lease, rule=desk.context.rule_for(SECTION), started=START)


@pytest.mark.parametrize(
    ("link", "on", "needed"),
    [
        (Kind.FEED, Kind.SECTION, "feeds"),
        (Kind.SITEMAP, Kind.SECTION, "sitemaps"),
        (Kind.ARTICLE, Kind.SECTION, "sections, links"),
        (Kind.SECTION, Kind.ARTICLE, "links"),
        (Kind.ARTICLE, Kind.ARTICLE, "links"),
        (Kind.ARTICLE, Kind.FEED, None),
        (Kind.ARTICLE, Kind.SITEMAP, None),
    ],
)
@pytest.mark.parametrize("chosen", ["feeds", "sitemaps", "sections", "links"])
def test_follow_selects_the_kinds_of_links(make_desk, link, on, needed, chosen):
    desk = make_desk(follow=(chosen,))
    visit = visit_on(desk, on)
    assert desk.crawl.judge.follows(link, visit.rule, visit) is (
        needed is None or chosen in needed.split(", ")
    )


def test_links_of_articles_are_followed_if_the_site_has_no_sources(make_desk):
    desk = make_desk({"bare.test": "domain: bare.test\n"})
    visit = desk.visit("https://bare.test/a-story", where=Where.BODY)
    assert desk.crawl.judge.follows(Kind.ARTICLE, visit.rule, visit)
    desk.crawl.sources.of("bare.test").add(Kind.FEED)
    assert not desk.crawl.judge.follows(Kind.ARTICLE, visit.rule, visit)
    desk.crawl.links.queue(found(story(1, "bare.test")), visit)
    assert rejected(desk) == {"not_followed": 1}


def test_links_of_an_article_on_a_site_without_a_rule_are_not_followed(make_desk):
    desk = make_desk({"feeds.test": "domain: feeds.test\nfeeds: https://feeds.test/rss\n"})
    visit = desk.visit("https://elsewhere.test/a-story", where=Where.FEED)
    assert not desk.crawl.judge.follows(Kind.ARTICLE, visit.rule, visit), (
        "otherwise the whole web would be crawled"
    )


def test_the_argument_follow_has_precedence_over_rules(make_desk):
    rules = {"news.test": f"domain: news.test\nfeeds: {FEED}\nfollow: [links]\n"}
    desk = make_desk(rules)
    visit = visit_on(desk, Kind.ARTICLE)
    assert desk.crawl.judge.follows(Kind.ARTICLE, visit.rule, visit)
    assert not desk.crawl.judge.follows(Kind.FEED, visit.rule, visit)


@pytest.mark.parametrize(
    ("days", "since", "until", "taken"),
    [
        (1, 2, None, True),
        (3, 2, None, False),
        (2, 2, None, True),
        (1, 2, 1, False),
        (1.5, 2, 1, True),
        (None, 2, None, True),
        (100, None, None, True),  # a feed may contain old items on purpose
    ],
)
def test_links_outside_the_dates_are_rejected(make_desk, days, since, until, taken):
    ago = lambda number: number and NOW - timedelta(days=number)  # noqa: E731
    desk = make_desk(since=ago(since), until=ago(until))
    visit = desk.visit(FEED, Kind.FEED)
    link = found(STORY, where=Where.FEED, published_at=ago(days))
    assert desk.crawl.links.queue(link, visit) == taken
    assert rejected(desk) == ({} if taken else {"too_old": 1})


@pytest.mark.parametrize(("limit", "days", "taken"), [(30, 29, True), (30, 31, False), (0, 3000, True)])
def test_old_pages_of_sitemaps_are_rejected(make_desk, limit, days, taken):
    desk = opened(make_desk(settings={"NEWSBOT_MAX_AGE_DAYS": limit}))
    visit = desk.visit("https://news.test/map.xml", Kind.SITEMAP)
    link = found(STORY, where=Where.SITEMAP, modified_at=NOW - timedelta(days=days))
    assert desk.crawl.links.queue(link, visit) == taken


# --- lists that no trusted source names
def archive(day):
    return f"https://news.test/archive/2026/11/{day:02}"


def on_list(desk, url):
    return desk.visit(url, Kind.SECTION, where=Where.BODY, why="list", depth=2)


def end(desk, visit, *links, status=200):
    fill(visit, status=status)
    if status >= 400:
        fill(visit, error=f"http_{status}")
    else:
        visit.found.append(found(*links, depth=3, referrer=visit.url))
    desk.settle(visit)


DAYS = list_family("https://news.test/archive/2026/11/01")


def queue(desk, *urls):
    """Queue links of the front page, and those of its families that are tried."""
    desk.crawl.links.queue(found(*urls, where=Where.NAVIGATION), desk.front)
    desk.crawl.links.queue_released(desk.front)


def queued(desk):
    return [day for day in range(1, 10) if entry(desk, archive(day)) is not None]


def test_one_list_of_a_shape_is_queued_until_it_yields(section):
    queue(opened(section), *map(archive, range(1, 6)))
    [tried] = queued(section)
    assert rejected(section) == {"waits": 5}
    end(section, on_list(section, archive(tried)), STORY)
    assert queued(section) == [1, 2, 3, 4, 5]


def test_lists_of_a_shape_wait_after_two_that_led_to_nothing(section):
    queue(section, *map(archive, range(1, 6)))
    tried = []
    for _ in range(2):
        [day] = [day for day in queued(section) if day not in tried]
        tried.append(day)
        end(section, on_list(section, archive(day)))
    queue(section, archive(9))
    assert queued(section) == sorted(tried)
    assert section.crawl.families.of("news.test").state(DAYS) is State.CLOSED
    assert section.context.storage.waiting.counts("news.test")[DAYS] == 4


def test_a_list_that_fails_is_replaced_by_another(section):
    queue(section, archive(1))
    end(section, on_list(section, archive(1)), status=404)
    queue(section, archive(2))
    assert queued(section) == [1, 2]


def test_a_list_of_an_earlier_crawl_does_not_delay_other_lists(section):
    visit = on_list(section, archive(1))
    fill(visit, status=200)
    section.context.frontier.ack(visit.lease, next_due=START + 86400)
    queue(section, archive(1), archive(2))
    assert entry(section, archive(2)) is not None


def test_only_the_first_visit_of_a_list_counts(section):
    visit = on_list(section, archive(1))
    end(section, visit)
    section.crawl.lists.end(fill(section.begin(visit.lease), status=404, error="http_404"))
    assert section.crawl.families.of("news.test").families[DAYS].tried == 1


@pytest.mark.parametrize("fruitful", [True, False])
def test_a_list_may_be_visited_by_another_worker(section, fruitful):
    queue(section, archive(1), archive(2))
    other = FamilyNotes()
    refusal = "" if fruitful else "barren_list"
    other.add(
        section.context.notes, "news.test", Result(family=DAYS, named=False, refusal=refusal, is_list=True)
    )
    other.write(section.context.notes)
    # as at each heartbeat, if a page of the site was read since the last one
    section.crawl.sites.families.write(section.context.notes, only="news.test")
    queue(section, archive(5))
    assert len(queued(section)) == (3 if fruitful else 2)
