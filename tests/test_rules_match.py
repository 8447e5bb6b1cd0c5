"""Which rule applies to a URL, and its result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.items import Kind
from newsbot.pages.rules import Match, Pattern, Rule, RuleSet, classify
from newsbot.pages.rules.rule import MAX_SEARCHED


def patterns(*texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text, "x.yaml", line) for line, text in enumerate(texts, 1))


RULE = Rule(
    domain="example.org",
    seeds=("https://example.org/start",),
    feeds=("https://www.example.org/rss?utm_source=x", "https://feeds.example.net/a"),
    sitemaps=("https://example.org/news.xml?from=robots",),
    sections=("https://example.org/latest", "https://example.org/denied/list"),
    article=patterns(r"^/news/\d+", r"\?id=\d+$"),
    section=patterns(r"^/news/", r"^/world"),
    deny=patterns(r"^/denied/", r"/video/", r"/news/13$"),
    drop_query=("from",),
)

CASES = [
    ("https://example.org/news/1", Kind.ARTICLE, r"^/news/\d+"),
    ("https://sub.example.org:8080/news/1?page=2", Kind.ARTICLE, r"^/news/\d+"),
    ("https://example.org/show?id=7", Kind.ARTICLE, r"\?id=\d+$"),
    ("https://example.org/news/", Kind.SECTION, "^/news/"),
    ("https://example.org/world", Kind.SECTION, "^/world"),
    ("https://example.org/start", Kind.SECTION, None),
    ("https://example.org/latest", Kind.SECTION, None),
    ("http://example.org/rss", Kind.FEED, None),
    ("https://feeds.example.net/a", Kind.FEED, None),
    ("https://example.org/news.xml", Kind.SITEMAP, None),
    ("https://example.org/other", None, None),
    ("https://example.org/", None, None),
    ("https://example.org", None, None),
]


@pytest.mark.parametrize(("url", "kind", "pattern"), CASES)
def test_classify(url: str, kind: Kind | None, pattern: str | None) -> None:
    match = classify(RULE, url)
    assert (match.kind, match.denied) == (kind, False)
    assert (match.pattern and match.pattern.text) == pattern


@pytest.mark.parametrize("path", ["/denied/list", "/news/1/video/", "/news/13", "/denied/"])
def test_deny_has_precedence_over_all_patterns(path: str) -> None:
    match = classify(RULE, "https://example.org" + path)
    assert (match.kind, match.denied) == (None, True)
    assert match.pattern in RULE.deny


def test_a_feed_that_is_also_a_seed_is_a_feed() -> None:
    rule = Rule(domain="a.org", seeds=("https://a.org/x",), feeds=("https://a.org/x",))
    assert classify(rule, "https://a.org/x") == Match(Kind.FEED)


def test_only_the_beginning_of_a_long_url_is_searched() -> None:
    rule = Rule(domain="a.org", deny=patterns("b"))
    path = "/" + "a" * (MAX_SEARCHED - 1)
    assert not classify(rule, f"https://a.org{path}b").denied
    assert classify(rule, f"https://a.org{path[:-1]}b").denied


DOMAINS = ("example.org", "news.example.org", "co.uk", "xn--80aafi6cg.xn--p1ai", "127.0.0.1")
RULES = RuleSet([Rule(domain=domain) for domain in DOMAINS], Rule(domain="", delay=9.0))

HOSTS = [
    ("example.org", "example.org"),
    ("www.example.org", "example.org"),
    ("EXAMPLE.org:8080", "example.org"),
    ("a.b.news.example.org", "news.example.org"),
    ("notexample.org", "notexample.org"),
    ("a.example.com", "example.com"),
    ("bbc.co.uk", "co.uk"),
    ("правда.рф", "xn--80aafi6cg.xn--p1ai"),
    ("127.0.0.1:8000", "127.0.0.1"),
    ("127.0.0.2:8000", "127.0.0.2"),
    ("[::1]:8000", "[::1]"),
    ("localhost", "localhost"),
]


@pytest.mark.parametrize(("host", "domain"), HOSTS)
def test_the_longest_domain_applies(host: str, domain: str) -> None:
    rule = RULES.for_url(f"https://{host}/x")
    assert rule.domain == domain
    assert rule.delay == (1.0 if RULES.get(domain) else 9.0)


def test_an_invalid_url_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="not an absolute"):
        RULES.for_url("mailto:a@example.org")


def test_a_rule_set_is_a_collection() -> None:
    assert len(RULES) == 5
    assert [rule.domain for rule in RULES] == list(DOMAINS)
    assert RULES.get("Правда.РФ") is RULES.get("xn--80aafi6cg.xn--p1ai")
    assert RULES.get("www.example.org") is None
    assert RULES.get("a b") is None
    assert "example.org" in RULES
    assert "example.com" not in RULES


LABELS = st.lists(st.sampled_from(["a", "b", "www", "news"]), max_size=4)


@given(LABELS, st.sets(st.sampled_from(["a.org", "b.a.org", "news.b.a.org", "b.org"])))
def test_for_url_is_the_longest_suffix(labels: list[str], domains: set[str]) -> None:
    host = ".".join([*labels, "a", "org"])
    fitting = [domain for domain in domains if f".{host}".endswith(f".{domain}")]
    rule = RuleSet([Rule(domain=domain) for domain in sorted(domains)]).for_url(f"https://{host}/")
    assert rule.domain == max(fitting, key=len, default="a.org")
