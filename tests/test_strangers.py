"""What one site says about another site: the address may be fetched, and nothing else counts."""

from __future__ import annotations

from xml.sax.saxutils import escape

import pytest

from newsbot.crawl.links.queue import MAX_HELD, NEW_HOSTS
from tests.crawls import article_html
from tests.newssite import XML, sitemap_xml

OWN, OTHER = "harbour.test", "gossip.test"
STORY = f"http://{OWN}/stories/the-crane-is-back"
LATE = "Sat, 01 Aug 2015 06:30:00 GMT"


def listing(*items: dict[str, str]) -> str:
    """Return an RSS feed. An item has ``link``, and perhaps ``title``, ``date`` and ``author``."""
    names = {"title": "title", "link": "link", "date": "pubDate", "author": "dc:creator"}
    rows = "".join(
        "<item>"
        + "".join(f"<{names[key]}>{escape(text)}</{names[key]}>" for key, text in item.items())
        + "</item>"
        for item in items
    )
    return (
        '<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<channel><title>t</title>{rows}</channel></rss>"
    )


def undated(number: int, **more: str) -> str:
    return article_html(number, **more).replace("<time datetime='2026-11-20T08:00:00Z'></time>", "")


@pytest.fixture
def two(site, world):
    """Two sites with a feed each. Return a function that sets the items of one feed."""
    for host in (OWN, OTHER):
        world.rule(host, f"domain: {host}\nfeeds: http://{host}/feed.xml\n")

    def lists(host: str, *items: dict[str, str]) -> None:
        site.page(f"http://{host}/feed.xml", listing(*items), headers=XML)

    lists(OWN)
    lists(OTHER)
    return lists


def crawl(world) -> None:
    done = world.crawl("-a", "now=yes")
    assert done.code == 0, done.err


CLAIM = {"link": STORY, "title": "Nothing happened at all today", "date": LATE, "author": "Nobody Real"}


@pytest.mark.parametrize("order", [(OWN, OTHER), (OTHER, OWN), (OTHER, "")])
def test_date_and_author_of_another_sites_feed_do_not_count(site, world, two, order):
    site.page(STORY, undated(1))
    for host in order:
        two(OWN, *([{"link": STORY}] if host == OWN else []))
        two(OTHER, *([CLAIM] if host == OTHER else []))
        crawl(world)
    (article,) = world.articles()
    assert (article.published_at, article.authors) == (None, [])
    assert article.title == "Council story number 1 about the bridge"


def test_the_sites_own_feed_gives_date_and_author_after_another_sites_feed(site, world, two):
    site.page(STORY, undated(1))
    two(OTHER, CLAIM)
    crawl(world)
    two(OWN, {"link": STORY, "date": "Fri, 20 Nov 2026 08:00:00 GMT", "author": "Ines Vale"})
    crawl(world)
    (article,) = world.articles()
    assert article.published_at is not None
    assert (article.published_at.isoformat(), article.authors) == ("2026-11-20T08:00:00+00:00", ["Ines Vale"])


def test_an_author_without_a_date_is_taken_from_the_sites_own_feed(site, world, two):
    site.page(STORY, undated(1))
    two(OTHER, CLAIM)
    crawl(world)
    two(OWN, {"link": STORY, "author": "Ines Vale"})
    crawl(world)
    assert [article.authors for article in world.articles()] == [["Ines Vale"]]


def test_a_redirect_from_another_site_brings_no_date(site, world, two):
    site.page(STORY, undated(1))
    site.page(f"http://{OTHER}/go", status=301, headers={"Location": STORY})
    two(OTHER, CLAIM | {"link": f"http://{OTHER}/go"})
    crawl(world)
    assert [(one.source, one.published_at, one.authors) for one in world.articles()] == [(OWN, None, [])]


def test_a_feed_on_another_host_speaks_for_the_site_whose_rule_names_it(site, world, two):
    site.page(STORY, undated(1))
    world.rule(OWN, f"domain: {OWN}\nfeeds: http://feeds.test/harbour.xml\n")
    item = {"link": "http://feeds.test/go/1", "date": "Fri, 20 Nov 2026 08:00:00 GMT"}
    site.page("http://feeds.test/harbour.xml", listing(item), headers=XML)
    site.page("http://feeds.test/go/1", status=302, headers={"Location": STORY})
    crawl(world)
    (article,) = world.articles()
    assert (article.source, str(article.published_at)) == (OWN, "2026-11-20 08:00:00+00:00")


def test_a_feed_that_a_person_asks_for_speaks_for_sites_without_a_rule(site, world):
    site.page(STORY, undated(1))
    claim = {**CLAIM, "title": "Council story number 1 about the bridge"}
    site.page(f"http://{OTHER}/feed.xml", listing(claim), headers=XML)
    world.crawl("-a", f"feeds=http://{OTHER}/feed.xml")
    assert [str(one.published_at) for one in world.articles()] == ["2015-08-01 06:30:00+00:00"]


# --- addresses
@pytest.mark.parametrize("same_text", [True, False])
def test_an_address_of_the_site_replaces_an_address_that_another_site_gave(site, world, two, same_text):
    site.page(f"{STORY}?via=gossip", article_html(1))
    site.page(STORY, article_html(1) if same_text else article_html(1).replace("The money", "All the money"))
    two(OTHER, {"link": f"{STORY}?via=gossip"})
    crawl(world)
    assert world.urls() == [f"{STORY}?via=gossip"]
    two(OWN, {"link": STORY})
    crawl(world)
    crawl(world)
    (article,) = world.articles()
    assert (article.canonical_url, article.url) == (STORY, STORY)


def test_an_address_of_the_site_stays_when_another_site_gives_another_one(site, world, two):
    for url in (STORY, f"{STORY}?via=gossip"):
        site.page(url, article_html(1))
    two(OWN, {"link": STORY})
    crawl(world)
    two(OTHER, {"link": f"{STORY}?via=gossip"})
    crawl(world)
    assert world.urls() == [STORY]


# --- headlines
def test_headlines_of_another_sites_feed_delay_nothing(site, world, two):
    news = [f"http://{OWN}/stories/new-{number}" for number in range(3)]
    old = [f"http://{OWN}/stories/old-{number}" for number in range(20)]
    titles = [f"The harbour master has resigned over affair {number}" for number in range(3)]
    for number, url in enumerate(old):
        site.page(url, article_html(100 + number), delay=0.1)
    for number, url in enumerate(news):
        site.page(url, article_html(number))
    two(OTHER, *({"link": url, "title": titles[n % 3]} for n, url in enumerate(old)))
    world.rule(OWN, f"domain: {OWN}\nfeeds: http://{OWN}/feed.xml\ndelay: 0.2\nconcurrency: 1\n")
    items = [{"link": url, "title": title} for url, title in zip(news, titles, strict=True)]
    site.page(f"http://{OWN}/feed.xml", listing(*items), headers=XML, delay=1.0)
    crawl(world)
    seen = [path for path in site.seen(OWN) if path.startswith("/stories/")]
    places = [seen.index(url.removeprefix(f"http://{OWN}")) for url in news]
    assert max(places) - min(places) == 2, "the new articles come one after the other"
    assert max(places) < 10
    assert len(seen) == 23, "the other pages are fetched too"


# --- the queue
def queued(world) -> int:
    """Return the number of pages that were ever queued."""
    with world.storage() as storage:
        return sum(1 for _ in storage.pages.iter())


@pytest.mark.parametrize("kind", ["file", "redis"])
def test_a_site_cannot_fill_the_queue_and_all_its_pages_are_read_in_the_end(site, world, kind, request):
    if kind == "redis":
        world.servers["REDIS_URL"] = request.getfixturevalue("durable_redis").url
    pages = {f"http://{OWN}/2026/11/{n:02}/a-story-about-the-bridge-{n}": "2026-11-20" for n in range(1, 81)}
    for number, url in enumerate(pages):
        site.page(url, article_html(number))
    names = [f"http://{OWN}/map-{part}.xml" for part in range(4)]
    for part, name in enumerate(names):
        some = dict(list(pages.items())[20 * part : 20 * part + 20])
        site.page(name, sitemap_xml(some), headers=XML)
    world.rule(OWN, f"domain: {OWN}\nsitemaps: [{', '.join(names)}]\n")
    stopped = world.crawl("-s", "NEWSBOT_QUEUE_PER_SITE=30", "-a", "max_articles=1")
    assert queued(world) <= 40, stopped.err
    assert "queue full domain=harbour.test" in stopped.err
    done = world.crawl("-s", "NEWSBOT_QUEUE_PER_SITE=30", timeout=400)
    assert len(world.urls()) == 80, done.err


def test_links_of_other_sites_use_a_tenth_of_the_queue(site, world, two):
    urls = [f"http://{OWN}/stories/number-{n}" for n in range(40)]
    for number, url in enumerate(urls):
        site.page(url, article_html(number))
    two(OTHER, *({"link": url} for url in urls))
    world.crawl("-s", "NEWSBOT_QUEUE_PER_SITE=100", "-a", "max_articles=1")
    assert queued(world) <= 13
    two(OWN, *({"link": url} for url in urls))
    crawl(world)
    assert len(world.urls()) == 40


# --- hosts
def test_new_hosts_that_one_site_names_wait_for_each_other(site, world):
    """The feed of one site names many hosts. The other site's articles do not wait for all of them."""
    number = NEW_HOSTS + 40
    urls = [f"http://h{n}.place{n}.test/2026/11/28/a-story-about-the-bridge-{n}" for n in range(number)]
    for n, url in enumerate(urls):
        site.page(url, article_html(500 + n))
    for n in range(5):
        site.page(f"http://{OWN}/stories/own-{n}", article_html(n))
    own = [{"link": f"http://{OWN}/stories/own-{n}"} for n in range(5)]
    site.page(f"http://{OTHER}/feed.xml", listing(*({"link": url} for url in urls)), headers=XML)
    site.page(f"http://{OWN}/feed.xml", listing(*own), headers=XML, delay=0.5)
    for host in (OWN, OTHER):
        world.rule(host, f"domain: {host}\nfeeds: http://{host}/feed.xml\n")
    done = world.crawl()
    assert done.stat("links/host_held") == 40
    assert len(world.urls()) == number + 5, "held links are queued one by one"
    assert MAX_HELD > NEW_HOSTS


# --- many blogs under one rule
ANNA, EVE = "http://anna.blogs.test/2026/about-the-harbour", "http://eve.blogs.test/2026/about-the-harbour"


@pytest.mark.parametrize("first", [ANNA, EVE])
@pytest.mark.parametrize("alike", [True, False])
def test_a_blog_cannot_take_the_address_of_another_blog(site, world, first, alike):
    claim = f"<link rel='canonical' href='{ANNA}'>"
    text = (
        article_html(1, head=claim).replace("The money", "All the money")
        if alike
        else article_html(2, head=claim)
    )
    site.page(ANNA, article_html(1))
    site.page(EVE, text)
    world.rule("blogs.test", "domain: blogs.test\nfeeds: http://blogs.test/feed.xml\n")
    for urls in ([first], [ANNA, EVE]):
        site.page("http://blogs.test/feed.xml", listing(*({"link": url} for url in urls)), headers=XML)
        world.crawl("-a", "now=yes")
    stored = {article.canonical_url: article.url for article in world.articles()}
    assert stored == {ANNA: ANNA, EVE: EVE}
    with world.storage() as storage:
        assert "All the money" not in storage.articles.get(ANNA).text


def test_another_host_of_the_site_confirms_a_claim_by_the_same_text(site, world):
    site.page(ANNA, article_html(1))
    site.page(EVE, article_html(1, head=f"<link rel='canonical' href='{ANNA}'>"))
    world.rule("blogs.test", "domain: blogs.test\nfeeds: http://blogs.test/feed.xml\n")
    site.page("http://blogs.test/feed.xml", listing({"link": ANNA}), headers=XML)
    world.crawl()
    site.page("http://blogs.test/feed.xml", listing({"link": ANNA}, {"link": EVE}), headers=XML)
    world.crawl("-a", "now=yes")
    assert world.urls() == [ANNA]
