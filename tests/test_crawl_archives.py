"""Complete crawls of sites without a feed or sitemap read archives and pagination, and limit traps."""

from __future__ import annotations

import pytest

from newsbot.pages.discovery.list_pages import MAX_LINKS
from newsbot.ranking.families import ENOUGH
from testbed.messages import Answer
from tests.crawls import article_html, feed_xml

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
    """A site with a home page only; robots.txt disallows the usual places of feeds and sitemaps."""
    site.robots("User-agent: *\nDisallow: /*feed\nDisallow: /*rss\nDisallow: /*xml\n", host="news.test")
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\n")
    return world


@pytest.mark.parametrize(("depth", "found"), [(5, [1, 2]), (4, [])])
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
    assert (crawl.stat("links/rejected/too_deep") > 0) == (depth < 5)


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
    assert len(pages) <= 8, "the crawl stops after two pages without articles"


def test_an_endless_calendar_costs_only_a_few_pages(site, bare):
    """Each month links to the adjacent months, endlessly, but to no article."""
    site.page(f"{HOST}/", html(story(site, "2026/11/20", 1), ("/diary/2026/11/", "This month")))
    for year in range(1980, 2100):
        for month in range(1, 13):
            beside = [(year, month + 1), (year, month - 1), (year + 1, month), (year - 1, month)]
            links = [(f"/diary/{y}/{m:02}/", f"{m} {y}") for y, m in beside if 0 < m < 13]
            site.page(f"{HOST}/diary/{year}/{month:02}/", html(*links))
    crawl = bare.crawl()
    assert bare.urls() == [f"{HOST}/2026/11/20/story-about-bridge-number-1.html"], crawl.err
    requested = [path for path in site.seen("news.test") if path.startswith("/diary/")]
    assert 1 <= len(requested) <= 8
    assert crawl.stat("links/rejected/barren_list") + crawl.stat("links/rejected/calendar") > 0


def test_facets_sessions_and_tracking_do_not_duplicate_articles(site, bare):
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
    requested = site.seen("news.test")
    assert sum(path.partition("?")[0] == address.removeprefix(HOST) for path in requested) == 1
    assert sum(path.startswith("/shop/") for path in requested) <= 0.05 * len(facets)
    assert not any("token=" in path for path in requested)
    assert crawl.stat("links/rejected/session_id") == 50


def test_ten_megabytes_of_links_are_bounded_and_reported(site, bare):
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


PELICAN = """<html><head><title>Town News</title>{head}</head><body id="index" class="home">
<header id="banner"><h1><a href="/">Town News</a></h1><nav><ul>
<li><a href="/category/sport.html">Sport</a></li></ul>
</nav></header><section id="content"><ol id="posts-list">{posts}</ol>
<nav><ul><li>Page {number} / 9</li>{pages}</ul></nav>
</section></body></html>"""
HUGO = """<html><head><title>Town News</title>{head}</head><body>
<header><div class="menu"><a href="/">Town News</a>
<a href="/tags/">Tags</a></div></header>
<main>{posts}<ul class="pagination">{pages}</ul></main></body></html>"""
WORDPRESS = """<html><head><title>Town News</title>{head}</head><body class="home blog">
<main id="primary">{posts}
<nav class="navigation posts-navigation" aria-label="Posts">
<div class="nav-links">{pages}</div></nav></main></body></html>"""


def pelican(number):
    return "/" if number == 1 else f"/index{number}.html"


def hugo(number):
    return "/" if number == 1 else f"/page/{number}/"


def pelican_links(number, last):
    below = f"<li><a href='{pelican(number - 1)}'>&lang;</a></li>" if number > 1 else ""
    above = f"<li><a href='{pelican(number + 1)}'>&rang;</a><a href='{pelican(last)}'>&Rang;</a></li>"
    return below + (above if number < last else "")


def hugo_links(number, last):
    near = range(max(1, number - 2), min(last, number + 2) + 1)
    return "".join(f"<li><a href='{hugo(one)}'>{one}</a></li>" for one in near if one != number)


def wordpress_links(number, last):
    older = f"<div><a href='{hugo(number + 1)}'>Older posts</a></div>" if number < last else ""
    newer = f"<div><a href='{hugo(number - 1)}'>Newer posts</a></div>" if number > 1 else ""
    return older + newer


THEMES = {
    "pelican": (PELICAN, pelican, pelican_links),
    "hugo": (HUGO, hugo, hugo_links),
    "wordpress": (WORDPRESS, hugo, wordpress_links),
}


def publish(site, theme, posts, *, each=3, head=""):
    """Serve a site with this theme; ``posts`` are numbers, newest first."""
    template, address, links = THEMES[theme]
    last = -(-len(posts) // each)
    for number in range(1, last + 1):
        items = ""
        for post in posts[(number - 1) * each : number * each]:
            url = f"{HOST}/council-votes-about-bridge-{post}.html"
            site.page(url, article_html(post))
            title = f"The council votes about bridge {post}"
            items += f"<li><article><h2><a href='{url}'>{title}</a></h2></article></li>"
        page = template.format(posts=items, number=number, pages=links(number, last), head=head)
        site.page(HOST + address(number), page)
    return address, last


@pytest.mark.parametrize("feed", [False, True], ids=["nothing announced", "feed"])
@pytest.mark.parametrize("theme", list(THEMES))
def test_all_pages_of_a_home_page_are_read_at_first_and_later_only_the_first_ones(site, world, theme, feed):
    world.rule("_defaults", "delay: 0\nconcurrency: 1\ninterval: {section: 0, feed: 0, article: 30d}\n")
    head = "<link rel='alternate' type='application/rss+xml' href='/feed.xml'>" if feed else ""
    posts = list(range(40, 0, -1))
    shown = [f"{HOST}/council-votes-about-bridge-{post}.html" for post in posts[:7]]
    site.page(f"{HOST}/feed.xml", feed_xml(shown), headers={"Content-Type": "application/rss+xml"})
    site.robots("User-agent: *\nDisallow: /rss\nDisallow: /news\nDisallow: /atom\n", host="news.test")
    world.rule("news.test")
    address, last = publish(site, theme, posts, head=head)
    crawl = world.crawl()
    assert len(world.urls()) == 40, crawl.err
    requested = site.seen("news.test")
    assert [requested.count(address(number)) for number in range(2, last + 1)] == [1] * (last - 1)
    if not feed:
        publish(site, theme, list(range(44, 0, -1)))
        world.crawl("-a", f"url={HOST}/")
        assert len(world.urls()) == 44
        again = site.seen("news.test")[len(requested) :]
        assert [again.count(address(number)) for number in (2, 3, 4)] == [1, 0, 0], "page 2 had a new post"


def subjects(site, address, posts, index=None):
    """Serve a list for each of five subjects, and their index; return the links on the home page."""
    names = ["Economy", "Schools", "Rivers", "Old Town", "Trains"]
    links = [(address.format(name.lower().replace(" ", "-")), name) for name in names]
    for place, (path, _) in enumerate(links):
        site.page(HOST + path, html(*posts[place::5], *links))
    if index is None:
        return links
    site.page(HOST + index, html(*links))
    return [(index, "All of them")]


@pytest.mark.parametrize(
    ("address", "index"),
    [
        ("/tag/{}/", None),
        ("/category/{}.html", None),
        ("/author/{}", None),
        ("/blog/topics/{}/", "/blog/topics/"),
        ("/tag/{}.html", "/tags.html"),
        ("/category/{}/", "/categories/"),
    ],
)
def test_lists_by_subject_are_read_if_no_other_page_leads_to_older_posts(site, bare, address, index):
    posts = [story(site, "2026/11/10", number) for number in range(40)]
    site.page(
        f"{HOST}/", html(*posts[:6], *subjects(site, address, posts, index), ("/users/login", "Log in"))
    )
    crawl = bare.crawl()
    assert len(bare.urls()) == 40, crawl.err


AUTHORS = ("ann", "bea", "cem", "dov", "eva", "fay")


def authors(site, posts, *links, names=AUTHORS):
    """Serve a home page with posts and the pages of authors, which have only the given links."""
    pages = [(f"/author/{name}-writer", f"{name} Writer") for name in names]
    for number, (path, _) in enumerate(pages):
        site.page(HOST + path, html(*((f"{address}{number}", text) for address, text in links)))
    site.page(f"{HOST}/", html(*posts, *pages))


def test_later_crawls_remember_lists_by_subject_without_articles(site, bare):
    """The first crawl knows no article of the site, so a list that leads to any pages may be worth it."""
    new = [f"new-{number}" for number in range(5 * 4)]
    for run in range(1, 6):
        posts = [story(site, "2026/11/10", number) for number in range(run)]
        authors(site, posts, ("/search?q=", "Bridges"), names=(*AUTHORS, *new[: 4 * (run - 1)]))
        crawl = bare.crawl("-a", f"url={HOST}/")
        assert len(bare.urls()) == run, crawl.err
    requested = [path for path in site.seen("news.test") if path.startswith("/author/")]
    assert 0 < len(requested) == len(set(requested))
    assert len([path for path in requested if "new" in path]) <= ENOUGH


def test_the_folder_of_the_articles_of_a_page_is_a_list(site, bare):
    address, text = "/blog/the-council-talked-of-bridge-number-{}/", "The council talked of bridge number {}"
    posts = [(address.format(number), text.format(number)) for number in range(20)]
    for number, (path, _) in enumerate(posts):
        site.page(HOST + path, article_html(number))
    site.page(f"{HOST}/", html(*posts[:3], ("/blog/", "All"), ("/shop/", "Shop")))
    site.page(f"{HOST}/blog/", html(*posts))
    crawl = bare.crawl()
    assert len(bare.urls()) == 20, crawl.err


@pytest.mark.parametrize("other", ["numbered pages", "archive", "sitemap"])
def test_lists_by_subject_are_not_read_if_other_pages_lead_to_older_posts(site, world, other):
    world.rule("_defaults", "delay: 0\nconcurrency: 1\n")  # one after the other, as on a real site
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\n")
    posts = [story(site, "2026/11/10", number) for number in range(40)]
    rows = "".join(f"<url><loc>{url}</loc></url>" for url, _ in posts)
    site.robots("Disallow:\n" if other == "sitemap" else "User-agent: *\nDisallow: /*xml\n", host="news.test")
    site.page(f"{HOST}/sitemap.xml", f"<urlset>{rows}</urlset>", headers={"Content-Type": "text/xml"})
    ways = {"numbered pages": [("/page/2/", "2")], "archive": [("/2026/11/", "November")]}.get(other, [])
    site.page(f"{HOST}/", html(*posts[:6], *ways, *subjects(site, "/tag/{}/", posts)))
    site.page(f"{HOST}/page/2/", html(*posts[6:]))
    site.page(f"{HOST}/2026/11/", html(*posts))
    crawl = world.crawl()
    assert len(world.urls()) == 40, crawl.err
    tried = [path for path in site.seen("news.test") if path.startswith("/tag/")]
    assert len(tried) == (other == "sitemap"), "with 40 articles, one list may be read in vain"
    with world.storage() as storage:
        waiting = storage.waiting.counts("news.test")
        assert waiting.get("list:subject:/tag/@/", 0) + waiting.get("list:subject:/tag/*/", 0) == 5 - len(
            tried
        )
