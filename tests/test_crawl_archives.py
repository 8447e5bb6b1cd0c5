"""Sites without feed and sitemap in whole crawls: archives, pagination, traps; all bounded and explained."""

from __future__ import annotations

import pytest

from benchmarks.demoweb.messages import Answer
from newsbot.discovery.sections import MAX_LINKS
from tests.crawls import article_html

HOST = "http://news.test"
HTML = {"Content-Type": "text/html"}


def html(*links: tuple[str, str], head: str = "") -> str:
    rows = "".join(f"<p><a href='{address}'>{text}</a></p>" for address, text in links)
    return f"<html><head><title>News</title>{head}</head><body><main>{rows}</main></body></html>"


def story(site, day: str, number: int) -> tuple[str, str]:
    """Register an article; return the link to it."""
    address = f"{HOST}/{day}/story-about-bridge-number-{number}.html"
    site.page(address, article_html(number))
    return address, f"The council talked of bridge number {number}"


@pytest.fixture
def bare(site, world):
    """A site of one home page that nothing announces; robots.txt keeps the usual places closed."""
    site.robots("User-agent: *\nDisallow: /*feed\nDisallow: /*rss\nDisallow: /*xml\n", host="news.test")
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\n")
    return world


@pytest.mark.parametrize(("depth", "found"), [(5, [1]), (4, []), (6, [1, 2])])
def test_a_date_archive_is_followed_as_deep_as_the_rule_says(site, bare, depth, found):
    bare.rule("news.test", f"domain: news.test\nseeds: {HOST}/\nmax_depth: {depth}\n")
    days = "/2026/11/20/"
    site.page(f"{HOST}/", html(("/archive/", "Archive")))
    site.page(f"{HOST}/archive/", html(("/2026/", "2026")))
    site.page(f"{HOST}/2026/", html(("/2026/11/", "November")))
    site.page(f"{HOST}/2026/11/", html((days, "20")))
    site.page(HOST + days, html(story(site, "2026/11/20", 1), (f"{days}?page=2", "2")))
    site.page(f"{HOST}{days}?page=2", html(story(site, "2026/11/20", 2)))
    crawl = bare.crawl()
    assert bare.urls() == [f"{HOST}/2026/11/20/story-about-bridge-number-{n}.html" for n in found], crawl.err
    assert (crawl.stat("links/rejected/too_deep") > 0) == (depth < 6)


def test_pages_of_a_list_are_followed_while_they_yield_unknown_articles(site, bare):
    bare.rule("news.test", f"domain: news.test\nseeds: {HOST}/\nmax_depth: 50\n")
    site.page(f"{HOST}/", html(("/news/", "News of the city and the county")))
    for page in range(1, 31):
        links = [story(site, "2026/11/20", n) for n in range(3 * page, 3 * page + 3)] if page <= 6 else []
        address = f"{HOST}/news/" if page == 1 else f"{HOST}/news/?page={page}"
        site.page(address, html(*links, (f"/news/?page={page + 1}", "Next")))
    bare.rule("news.test", f"domain: news.test\nseeds: [{HOST}/, {HOST}/news/]\nmax_depth: 50\n")
    crawl = bare.crawl()
    assert len(bare.urls()) == 18, crawl.err
    pages = [path for path in site.seen("news.test") if "?page=" in path]
    assert pages[:5] == [f"/news/?page={n}" for n in range(2, 7)]
    assert len(pages) <= 8, "two barren pages end it"


def test_a_calendar_without_end_costs_a_few_pages(site, bare):
    """Each month names those beside it, for ever, and no article."""
    site.page(f"{HOST}/", html(story(site, "2026/11/20", 1), ("/diary/2026/11/", "This month")))
    for year in range(1980, 2100):
        for month in range(1, 13):
            beside = [(year, month + 1), (year, month - 1), (year + 1, month), (year - 1, month)]
            links = [(f"/diary/{y}/{m:02}/", f"{m} {y}") for y, m in beside if 0 < m < 13]
            site.page(f"{HOST}/diary/{year}/{month:02}/", html(*links))
    crawl = bare.crawl()
    assert bare.urls() == [f"{HOST}/2026/11/20/story-about-bridge-number-1.html"], crawl.err
    asked = [path for path in site.seen("news.test") if path.startswith("/diary/")]
    assert 1 <= len(asked) <= 8
    assert crawl.stat("links/rejected/barren_list") + crawl.stat("links/rejected/calendar") > 0


def test_facets_sessions_and_tracking_give_each_article_once(site, bare):
    colours = [f"c{n}" for n in range(12)]
    facets = [
        f"/shop/?colour={a}&size={b}&sort={c}" for a in colours for b in colours for c in ("up", "down")
    ]
    address, text = story(site, "2026/11/20", 1)
    tracked = [(f"{address}?utm_source=a{n}&fbclid=x{n}&gclid={n}", text) for n in range(50)]
    site.page(tracked[0][0], article_html(1))
    session = [(f"{address}?PHPSESSID={n:032x}", text) for n in range(50)]
    unnamed = [(f"/list/?token=9a{n:030x}", "More of the news of today, all of it") for n in range(50)]
    site.page(
        f"{HOST}/",
        html(*tracked, *session, *unnamed, *((path, "A coat of this colour and size") for path in facets)),
    )
    for path in facets:
        site.page(HOST + path, html(*((other, "A coat of this colour and size") for other in facets)))
    crawl = bare.crawl()
    assert bare.urls() == [address], crawl.err
    asked = site.seen("news.test")
    assert sum(path.partition("?")[0] == address.removeprefix(HOST) for path in asked) == 1
    assert sum(path.startswith("/shop/") for path in asked) <= 0.05 * len(facets)
    assert not any("token=" in path for path in asked)
    assert crawl.stat("links/rejected/session_id") == 50


def test_ten_megabytes_of_links_are_bounded_and_told(site, bare):
    first = story(site, "2026/11/20", 1)
    many = [(f"/2026/11/19/story-of-many-words-number-{n}.html", "x") for n in range(140_000)]
    page = html(first, *many).encode()
    assert len(page) > 9_500_000
    site.page(f"{HOST}/", lambda _: Answer(body=page[: 10 * 2**20 - 1], headers=HTML))
    crawl = bare.crawl("-a", "max_articles=1")
    assert crawl.code == 0, crawl.err
    assert bare.urls() == [first[0]]
    assert crawl.stat("links/found") <= MAX_LINKS + 50
    assert crawl.stat("links/cut") == 1
    assert f"links cut domain=news.test url={HOST}/ kept={MAX_LINKS}" in crawl.err
    assert any(event["event"] == "links_cut" for event in bare.events(f"{HOST}/"))
