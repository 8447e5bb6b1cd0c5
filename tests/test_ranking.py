"""How links are classified, and in which order they are fetched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.items import Kind, Link, Where
from newsbot.pages.discovery.list_pages import is_archive, is_pagination, trap
from newsbot.pages.rules.rule import Pattern, Rule
from newsbot.pages.rules.shape import WEIGHTS, features, is_front_page, prior
from newsbot.ranking.judging import SOURCE_PRIORITY, Judgement, is_onsite, judge
from newsbot.urls import canonicalize

NOW = datetime(2025, 1, 2, 12, tzinfo=UTC)
SITE = "https://site.example"
PLAIN = Rule(domain="site.example")
HEADLINE = "The new bridge opens after ten years"


def patterns(*texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text, "site.yaml", line) for line, text in enumerate(texts, 1))


RULED = Rule(
    domain="site.example",
    feeds=(f"{SITE}/own.xml",),
    sections=(f"{SITE}/front/",),
    article=patterns(r"^/story/\d+"),
    section=patterns(r"^/rubric/"),
    deny=patterns(r"^/print/", r"[?&]print="),
)


def of(
    path: str, where: Where = Where.BODY, rule: Rule = PLAIN, depth: int = 1, **fields: object
) -> Judgement:
    url = path if path.startswith("http") else SITE + path
    return judge(Link(url=url, where=where, **fields), rule, depth=depth, now=NOW)  # type: ignore[arg-type]


# --- rules
@pytest.mark.parametrize(
    ("path", "where", "kind", "accepted", "reason"),
    [
        ("/story/1", Where.NAVIGATION, Kind.ARTICLE, True, r"rule:^/story/\d+"),
        ("/story/1?print=1", Where.BODY, Kind.OTHER, False, "denied:[?&]print="),
        ("/print/1", Where.FEED, Kind.OTHER, False, "denied:^/print/"),
        ("/rubric/economy/", Where.BODY, Kind.SECTION, True, "rule:^/rubric/"),
        ("/front/", Where.NAVIGATION, Kind.SECTION, True, "rule"),
        ("/own.xml", Where.BODY, Kind.FEED, True, "rule"),
        ("/2024/12/31/a-long-headline-of-an-article.html", Where.BODY, Kind.ARTICLE, True, "not_in_rule"),
        ("/2024/12/31/a-long-headline-of-an-article.html", Where.FEED, Kind.ARTICLE, True, "feed"),
        ("/news?page=2", Where.BODY, Kind.SECTION, True, "list"),
    ],
)
def test_the_rule_decides_first(path: str, where: Where, kind: Kind, accepted: bool, reason: str) -> None:
    judged = of(path, where, RULED)
    assert (judged.kind, judged.accepted, judged.reason) == (kind, accepted, reason)


def test_feed_items_that_do_not_match_the_rule_have_a_lower_priority() -> None:
    old = NOW - timedelta(days=3)
    known = of("/story/1", Where.FEED, RULED, published_at=old)
    other = of("/other/1", Where.FEED, RULED, published_at=old)
    assert known.priority > other.priority > 0


# --- without patterns
CYRILLIC = "/" + quote("мост-открыт-наконец-сегодня")


@pytest.mark.parametrize(
    "path",
    [
        "/2024/12/31/bridge-opens/",
        "/2024/dec/31/bridge",
        "/politics/bridge-opens-after-ten-long-years",
        "/doc/6700000",
        "/news/960123.html",
        "/society/20241231/most-1946123456.html",
        "/articles/c4ngz1pyj0xo",
        "/?p=12345",
        CYRILLIC,
    ],
)
def test_urls_of_articles(path: str) -> None:
    judged = of(path)
    assert (judged.kind, judged.accepted, judged.reason) == (Kind.ARTICLE, True, "likely_article")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/", "front_page"),
        ("/?utm_source=x", "front_page"),
        ("https://other.example/2024/12/31/bridge-opens/", "offsite"),
        ("https://notsite.example/2024/12/31/bridge-opens/", "offsite"),
        ("mailto:a@site.example", "bad_url"),
        ("/a/b" * 3, "repeating_path"),
        ("/x?" + "a" * 400, "long_query"),
        ("/x?" + "&".join(f"a{n}={n}" for n in range(12)), "long_query"),
        ("/x/" + "a" * 1600, "long_url"),
        ("/x?mysession=0123456789abcdef0123456789", "session_id"),
        ("/news/page/5000/", "deep_pagination"),
        ("/2031/05/", "calendar"),
        ("/events?date=2031-05-01", "calendar"),
    ],
)
def test_rejected_urls(path: str, reason: str) -> None:
    url = path if ":" in path else SITE + path
    judged = judge(Link(url=url, where=Where.BODY), PLAIN, depth=1, now=NOW)
    assert (judged.kind, judged.priority, judged.accepted, judged.reason) == (Kind.OTHER, 0.0, False, reason)


@pytest.mark.parametrize("path", ["/tag/bridge-and-tunnel/", "/author/ivan-petrov", "/categories.html"])
def test_lists_by_subject_have_the_lowest_priority(path: str) -> None:
    judged = of(path)
    assert (judged.kind, judged.reason) == (Kind.SECTION, "subject_list")
    assert judged.priority < of("/2024/12/").priority


def test_depth() -> None:
    assert of("/2024/12/31/bridge/", depth=5).accepted
    assert of("/2024/12/31/bridge/", depth=6).reason == "too_deep"


@pytest.mark.parametrize(
    "path", ["/news/page/2/", "/news?page=2", "/2024/12/31/", "/archive/2024-12", "/?PAGEN_1=3"]
)
def test_lists_are_sections(path: str) -> None:
    judged = of(path)
    assert (judged.kind, judged.accepted) == (Kind.SECTION, True)


@pytest.mark.parametrize(
    "path", ["/politics/", "/search?q=bridge", "/login?next=/2024/12/31/bridge", "/privacy-policy", "/news/9"]
)
def test_no_link_is_refused_by_its_address_or_text(path: str) -> None:
    for text in (None, "Bridge", HEADLINE):
        judged = of(path, text=text)
        assert (judged.accepted, judged.reason) == (True, "likely_article"), "its family decides"


def test_the_place_and_the_text_of_a_link_decide_the_order() -> None:
    path = "/world/bridge-opens-late"
    assert of(path, text=HEADLINE).priority > of(path, text="Bridge").priority
    assert of("/news/960123").priority > of("/news/960123", Where.NAVIGATION, text="Weather").priority
    assert of(path, text="橋が十年ぶりに開通し多くの人が渡った").priority > of(path, text="橋").priority


def test_a_link_of_an_open_family_is_an_article_even_if_its_address_looks_like_a_list() -> None:
    link = Link(url="https://site.example/category/bridge", where=Where.BODY)
    rule = Rule(domain="site.example")
    assert judge(link, rule, depth=1, now=NOW).kind is Kind.SECTION
    assert judge(link, rule, depth=1, now=NOW, is_open=lambda _: True).kind is Kind.ARTICLE


@pytest.mark.parametrize("where", [Where.FEED, Where.NEWS_SITEMAP])
def test_items_of_feeds_are_articles_with_any_url(where: Where) -> None:
    judged = of("/x/y", where, kind=Kind.ARTICLE)
    assert (judged.kind, judged.accepted, judged.reason) == (Kind.ARTICLE, True, where.value)
    assert of("https://other.example/x/y", where).accepted  # the site of the feed is known


def test_discovered_sources_are_accepted() -> None:
    for kind, path in ((Kind.FEED, "/rss"), (Kind.SITEMAP, "/map.xml")):
        judged = of(path, Where.AUTODISCOVERY, kind=kind)
        assert (judged.kind, judged.priority, judged.accepted) == (kind, SOURCE_PRIORITY[kind], True)
    judged = of("/politics/", Where.AUTODISCOVERY, kind=Kind.SECTION)
    assert (judged.kind, judged.accepted, judged.reason) == (Kind.SECTION, True, "autodiscovery")


# --- priorities
def test_bands() -> None:
    hour, week = NOW - timedelta(hours=1), NOW - timedelta(days=7)
    order = [
        of("/2024/a-1", Where.FEED, published_at=NOW),
        of("/2024/a-1", Where.NEWS_SITEMAP, published_at=hour),
        of("/rss", Where.AUTODISCOVERY, kind=Kind.FEED),
        of("/map.xml", Where.AUTODISCOVERY, kind=Kind.SITEMAP),
        of("/2025/01/02/bridge-opens-after-ten-years", Where.FEED),
        of("/2024/12/25/bridge-opens-after-ten-years", Where.FEED, published_at=week),
        of("/news/960123"),
        of("/rubric/x/", rule=RULED),
        of("/news/page/2/", depth=3),
    ]
    priorities = [judged.priority for judged in order]
    assert priorities == sorted(priorities, reverse=True)
    assert len(set(priorities)) == len(priorities)
    assert all(judged.accepted for judged in order)


def test_a_future_time_has_the_priority_of_the_current_time() -> None:
    ahead = of("/x/1", Where.FEED, published_at=NOW + timedelta(hours=20))
    assert ahead.priority == of("/x/1", Where.FEED, published_at=NOW).priority <= 99


# --- parts
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://site.example/x", True),
        ("http://WWW.Site.Example:8080/", True),
        ("https://a.b.site.example/", True),
        ("https://site.example.evil.example/", False),
        ("https://xsite.example/", False),
        ("https://[::1]/", False),
        ("nonsense", False),
    ],
)
def test_is_onsite(url: str, expected: bool) -> None:
    assert is_onsite(url, PLAIN) is expected


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("/politics/bridge-opens-after-ten-years", "/politics/"),
        ("/2024/12/31/bridge/", "/bridge/"),
        ("/news/123456", "/news/12"),
        ("/story/bridge-opens-today-123456", "/video/bridge-opens-today-123456"),
        ("/world/bridge-opens-today.html", "/world/bridge-opens-today"),
        ("/articles/bridge", "/tags/bridge"),
    ],
)
def test_shapes(better: str, worse: str) -> None:
    assert prior(SITE + better) > prior(SITE + worse)


def test_pages_and_archives() -> None:
    assert is_pagination(f"{SITE}/a/page-3.html")
    assert is_pagination(f"{SITE}/a?x=y&page=3")
    assert not is_pagination(f"{SITE}/page-of-history")
    assert not is_pagination(f"{SITE}/a?page=about")
    assert is_archive(f"{SITE}/2024/")
    assert not is_archive(f"{SITE}/2024/12/31/bridge")
    assert is_front_page(f"{SITE}/?a=b")
    assert not is_front_page(f"{SITE}/?L=0&id=34&tx_news[news]=7")
    assert not is_front_page(f"{SITE}/?id=5:a-bridge&option=com_content")
    assert trap(f"{SITE}/2024/12/31/", NOW) is None


WORDS = """/ // 2024 12 31 a-b-c-d-e-f tag page ? & = id p 99999 %D0%BC ; .html - _ . # @ : www. xn--
article1234567"""
PARTS = st.sampled_from(WORDS.split())
PATHS = st.lists(st.one_of(PARTS, st.text(max_size=4)), max_size=25).map("".join)


@settings(max_examples=300, deadline=None)
@given(PATHS, st.sampled_from(Where), st.one_of(st.none(), st.text(max_size=60)), st.booleans())
def test_any_link_is_judged(path: str, where: Where, text: str | None, ruled: bool) -> None:
    judged = of(f"{SITE}/{path}", where, RULED if ruled else PLAIN, text=text)
    assert 0 <= judged.priority <= 100
    assert judged.reason
    assert judged.accepted == (judged.priority > 0)


@settings(max_examples=300, deadline=None)
@given(PATHS)
def test_every_feature_has_a_weight(path: str) -> None:
    try:
        url = canonicalize(f"{SITE}/{path}")
    except ValueError:
        return
    assert set(features(url)) <= set(WEIGHTS)
    assert 0 < prior(url) < 1
