"""Sitemap indexes that are huge, old or circular are read in complete crawls and without a crawl."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from newsbot.clock import utc
from newsbot.items import Kind, Where
from newsbot.spiders.sources import AT_ONCE, LONGEST_REST, SHARE, UNDATED
from testbed.messages import Answer
from tests.builders import START, fill, make_request, make_response
from tests.crawls import article_html, feed_xml
from tests.newssite import sitemap_xml

HOST = "http://news.test"
XML = {"Content-Type": "application/xml"}
HOUR, DAY = 3600.0, 86400.0
INDEX = "https://news.test/index.xml"


def index(urls, when=""):
    return sitemap_xml(dict.fromkeys(urls, when), "sitemap")


# --- complete crawls
def test_a_hundred_thousand_sitemaps_do_not_starve_the_articles(site, world):
    stories = [f"{HOST}/story/{n}" for n in range(40)]
    for n, url in enumerate(stories):
        site.page(url, article_html(n))
    site.page(f"{HOST}/feed.xml", feed_xml(stories), headers=XML)
    for part in range(2):
        files = [f"{HOST}/maps/{part}-{n}.xml" for n in range(50_000)]
        site.page(f"{HOST}/index-{part}.xml", index(files), headers=XML)
        for url in (*files[:300], *files[-300:]):
            site.page(url, sitemap_xml({f"{HOST}/old/{url[-11:-4]}": "2001-01-01"}), headers=XML)
    maps = f"[{HOST}/index-0.xml, {HOST}/index-1.xml]"
    world.rule(
        "news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\nsitemaps: {maps}\narticle: ^/story/\n"
    )
    crawl = world.crawl()
    assert crawl.code == 0, crawl.err
    assert len(world.urls()) == 40
    requested = site.seen("news.test")
    read = [path for path in requested if path.startswith("/maps/")]
    last_story = max(n for n, path in enumerate(requested) if path.startswith("/story/"))
    assert sum(path.startswith("/maps/") for path in requested[:last_story]) <= 2 * UNDATED + 8
    assert 4 * UNDATED <= len(read) <= AT_ONCE + SHARE * len(requested)
    assert {"/maps/0-0.xml", "/maps/0-49999.xml"} <= set(read), "the newest entries may be at either end"
    assert "files=50000 old=0 left=" in crawl.err
    assert crawl.stat("sitemaps/left") >= 100_000 - len(read)
    with world.storage() as storage:
        assert sum(1 for _ in storage.pages.iter(kind=Kind.SITEMAP)) == len(read) + 2, (
            "memory must be bounded"
        )
        assert len(storage.sources.all("news.test")) == 3, "files of an index have no source records"
    page = world.page(f"{HOST}/maps/0-0.xml")
    assert page is not None
    assert page.next_due == pytest.approx(page.last_fetched + LONGEST_REST)


def test_indexes_that_point_to_each_other_and_change_each_time_come_to_an_end(site, world):
    turns = itertools.count()
    soon = (datetime.now(UTC) + timedelta(hours=12)).isoformat(timespec="seconds")

    def circle(*others):
        def answer(_):
            body = index([*others, f"{HOST}/again.xml?n={next(turns)}"], soon)
            return Answer(body=body.encode(), headers=XML)

        return answer

    site.page(f"{HOST}/a.xml", circle(f"{HOST}/b.xml", f"{HOST}/a.xml"))
    site.page(f"{HOST}/b.xml", circle(f"{HOST}/a.xml", f"{HOST}/c.xml"))
    site.page(f"{HOST}/c.xml", circle(f"{HOST}/b.xml"))
    for n in range(400):
        site.page(f"{HOST}/again.xml?n={n}", circle(f"{HOST}/a.xml"))
    world.rule("news.test", f"domain: news.test\nsitemaps: {HOST}/a.xml\n")
    crawl = world.crawl()
    assert crawl.code == 0, crawl.err
    requested = site.seen("news.test")
    assert [requested.count(path) for path in ("/a.xml", "/b.xml", "/c.xml")] == [1, 1, 1]
    assert len(requested) < 20


# --- one reading at a time
def read(desk, visit, body, status=200):
    response = make_response(make_request(visit), body, status, XML)
    fill(visit, status=status)
    return list(desk.read(response, visit))


def read_map(desk, body, url=INDEX, **more):
    """Read a sitemap and end the visit; return the links by (force, patient)."""
    visit = desk.visit(url, Kind.SITEMAP, depth=0, **more)
    found = read(desk, visit, body)
    visit.found.extend(found)
    desk.settle(visit)
    links: dict[tuple[bool, bool], list[str]] = {}
    for one in found:
        links.setdefault((one.force, one.patient), []).extend(link.url for link in one.links)
    return {key: urls for key, urls in links.items() if urls}


def stamp(age):
    return utc(START - age).isoformat(timespec="seconds")


def test_fresh_files_are_first_then_those_at_both_ends_and_old_ones_are_never_read(desk):
    files = [f"https://news.test/{n}.xml" for n in range(40)]
    when = dict.fromkeys(files, "")
    when["https://news.test/lately.xml"] = stamp(DAY)
    when["https://news.test/today.xml"] = stamp(HOUR)
    when["https://news.test/week.xml"] = stamp(7 * DAY)
    when["https://news.test/old.xml"] = stamp(60 * DAY)
    when["https://news.test/google-news.xml"] = ""
    queued = read_map(desk, sitemap_xml(when, "sitemap"))
    ends = [url for pair in zip(files[:5], files[:-6:-1], strict=True) for url in pair]
    first = [f"https://news.test/{name}.xml" for name in ("today", "lately", "google-news")]
    assert queued[False, False] == first + ends
    assert queued[False, True][0] == "https://news.test/week.xml"
    assert len(queued[False, True]) == 1 + 40 - UNDATED
    assert desk.stat("sitemaps/old") == 1
    assert desk.stat("sitemaps/left") == 0


def test_remaining_files_are_queued_by_later_visits_even_if_the_index_is_unchanged(desk):
    files = [f"https://news.test/{n}.xml" for n in range(2 * AT_ONCE)]
    body = index(files)
    queued: list[str] = []
    for fetched in (0, 0, 40, 1000):
        desk.crawler.stats.set_value("newsbot/site/news.test/fetched", fetched)
        queued += [url for urls in read_map(desk, body).values() for url in urls]
        assert UNDATED < len(queued) <= AT_ONCE + SHARE * fetched, (
            "must be limited to a share of the site's requests"
        )
        desk.clock.now += 6 * HOUR
    assert desk.stat("unchanged") == 0
    assert sorted(queued) == sorted(files), "each file must be queued once"
    assert read_map(desk, body) == {}
    desk.clock.now += 6 * HOUR
    assert read_map(desk, body) == {}
    assert desk.stat("unchanged") >= 1, "with all files known, it counts as unchanged"


def test_a_crawl_since_a_past_date_reads_all_files(make_desk):
    desk = make_desk(since=utc(START - 1000 * DAY))
    files = {f"https://news.test/{n}.xml": stamp(300 * DAY) for n in range(5 * AT_ONCE)}
    assert len(read_map(desk, sitemap_xml(files, "sitemap"))[False, True]) == 5 * AT_ONCE


def test_a_file_with_a_newer_lastmod_is_read_now_but_not_within_its_interval(desk):
    name = "https://news.test/1.xml"
    read_map(desk, index([name], stamp(HOUR)))
    child = sitemap_xml({"https://news.test/story/1": ""})
    read_map(desk, child, name, where=Where.SITEMAP)
    desk.clock.now += 60
    assert read_map(desk, index([name], stamp(-30))) == {}
    desk.clock.now += 600
    assert read_map(desk, index([name], stamp(-30))) == {(True, False): [name]}
    read_map(desk, child, name, where=Where.SITEMAP)
    desk.clock.now += 600
    assert read_map(desk, index([name, name + "?"], stamp(-30))).get((True, False)) is None, (
        "it was read since then"
    )


def test_files_rest_by_age_and_longer_each_time_they_are_unchanged(desk):
    def due(url):
        desk.clock.now += 1
        visit = desk.visit(url, Kind.SITEMAP, where=Where.SITEMAP)
        rest = visit.record.next_due - visit.record.last_fetched
        desk.clock.now = visit.record.next_due
        return rest

    old, new, undated = (f"https://{name}.news.test/map.xml" for name in ("old", "new", "undated"))
    for url, age in ((old, 20 * DAY), (new, HOUR), (undated, None)):
        when = "" if age is None else stamp(age - desk.clock() + START)
        body = sitemap_xml({f"{url}/story": when})
        read_map(desk, body, url, where=Where.SITEMAP)
        first = due(url)
        assert first == pytest.approx(2 * DAY) if url == old else first <= 6 * HOUR
        rests = []
        for _ in range(9):
            read_map(desk, body, url, where=Where.SITEMAP)
            rests.append(due(url))
        assert rests[0] == pytest.approx(max(6 * HOUR, 2 * first))
        assert rests[-1] == LONGEST_REST
        assert rests == sorted(rests)


@pytest.mark.parametrize(
    ("name", "changes", "priority", "longest"),
    [
        ("news-sitemap.xml", 0, 80.0, 6 * HOUR),
        ("posts-7.xml", 1, 80.0, 6 * HOUR),
        ("posts-7.xml", 0, 80.0, LONGEST_REST),
        ("news-2019-01.xml", 1, 39.5, LONGEST_REST),
    ],
)
def test_files_that_get_new_articles_rest_no_longer_than_other_sources(
    make_desk, name, changes, priority, longest
):
    desk, url = make_desk(), f"https://news.test/{name}"
    rests = []
    for turn in range(12):
        desk.queue(url, Kind.SITEMAP, where=Where.SITEMAP, priority=priority)
        [lease] = desk.context.frontier.lease("test", 1, horizon=desk.clock() + 1, ttl=60)
        visit = desk.begin(lease)
        visit.found = read(desk, visit, sitemap_xml({f"https://elsewhere.test/{min(turn, changes)}": ""}))
        desk.settle(visit)
        page = desk.context.storage.pages.get([lease.entry.fingerprint])[lease.entry.fingerprint]
        rests.append(page.next_due - desk.clock())
        desk.clock.now = page.next_due
    assert max(rests) == pytest.approx(longest)


def test_files_with_ever_newer_lastmod_that_never_change_are_last(desk):
    names = [f"https://news.test/{n}.xml" for n in range(3)]
    for turn in range(4):
        queued = read_map(desk, index(names, stamp(START - desk.clock())))
        if turn == 0:
            assert queued == {(False, False): names}
        elif turn < 3:
            assert queued == {(True, False): names}
        for n, name in enumerate(names):
            body = sitemap_xml({f"https://news.test/story/{n}": ""})
            if n == 2:
                body = sitemap_xml({f"https://news.test/story/{n}/{turn}": ""})
            read_map(desk, body, name, where=Where.SITEMAP)
        desk.clock.now += HOUR
    assert queued == {(True, False): [names[2]], (True, True): names[:2]}
