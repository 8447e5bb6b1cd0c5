"""Valid rules that are probably mistakes get a hint with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from newsbot.apps.authoring.command import find_hints
from newsbot.pages.rules.load import read_files, read_folder

HINTS = [
    ("article: ^/shop/\\d+\ndeny: ^/shop/", 2, "article", "is denied by ^/shop/ ("),
    ("section: ^/login$", 2, "section", "_defaults.yaml:1); deny wins"),
    ("article: '^/(?:a|b)/\\d'\ndeny: ['^/a/', '^/b/']", 2, "article", "deny wins"),
    ("article: https://example.org/news", 2, "article", "never matches: patterns match only path and query"),
    ("article: ^/новости/", 2, "article", "never matches: URLs are percent-encoded"),
    ("deny: ['^/x', '/']", 2, "deny", "denies the whole site"),
    ("article: /news/*.html", 2, "article", "/* means any number of slashes"),
    ("article: .*", 2, "article", "marks every page as article"),
    ("article: ^/a\nsection: ^/a", 3, "section", "'^/a' is already given on line 2"),
    ("feeds: https://example.org/login", 2, "feeds", "is denied by ^/login"),
    ("feeds: https://example.org/a\nsitemaps: https://example.org/a", 3, "sitemaps", "is also given as feed"),
    ("feeds: [https://example.org/a, https://example.org/a]", 2, "feeds", "the same URL is given twice"),
    ("interval: {feed: 5s}", 2, "interval", "feed: is less than one minute"),
    ("interval: {feed: 7h}", 2, "interval", "more than 12 hours after"),
    ("delay: 0.5", 2, "delay", "0.5 s is less than one second"),
    ("follow: []", 2, "follow", "only the seeds are fetched"),
]


def hints_of(
    folder: Path, text: str, defaults: str = "deny: ^/login\n", domain: str = "example.org"
) -> list[str]:
    (folder / "_defaults.yaml").write_text(defaults, encoding="utf-8")
    (folder / f"{domain}.yaml").write_text(f"domain: {domain}\n{text}\n", encoding="utf-8")
    loaded = read_folder(folder)
    assert loaded.problems == []
    return [str(hint).replace(f"{folder}/", "") for hint in find_hints(loaded)]


@pytest.mark.parametrize(("text", "line", "key", "part"), HINTS, ids=[hint[0][:30] for hint in HINTS])
def test_hints(tmp_path: Path, text: str, line: int, key: str, part: str) -> None:
    (hint,) = hints_of(tmp_path, text)
    assert hint.startswith(f"example.org.yaml:{line}: {key}: ")
    assert part in hint


@pytest.mark.parametrize(
    "text",
    [
        "article: '^/news/\\d+'\ndeny: ^/news/13",
        "article: ['^/a/\\d', '^/b/']\ndeny: ^/a/1/video",
        "feeds: https://feeds.example.net/login",
        "article: '^/(?:a|b)/\\d'\ndeny: ^/a/",
        "delay: 1",
    ],
)
def test_ordinary_rules_get_no_hints(tmp_path: Path, text: str) -> None:
    defaults = "deny: ^/logout\n"
    assert hints_of(tmp_path, text, defaults) == []


def test_a_domain_with_www_gets_a_hint(tmp_path: Path) -> None:
    (hint,) = hints_of(tmp_path, "", domain="www.example.org")
    assert hint.endswith("domain: covers www.example.org only; 'example.org' covers both")


def test_sources_for_every_site_get_a_hint(tmp_path: Path) -> None:
    (hint,) = hints_of(tmp_path, "", "delay: 2\nfeeds: https://example.org/rss\n")
    assert hint.startswith("_defaults.yaml:2: feeds: applies to every site")


def test_an_invalid_rule_gets_problems_instead_of_hints(tmp_path: Path) -> None:
    (tmp_path / "example.org.yaml").write_text("domain: example.org\ndelay: 0.1\nlearn: 3\n")
    loaded = read_folder(tmp_path)
    assert len(loaded.problems) == 1
    assert find_hints(loaded) == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"^example.org/news/", "without the host"),
        (r"^www\.example\.org/x", "without the host"),
        (r"[?&]utm_source=x", "utm_source is a query key that is dropped"),
        (r"\?ref=1", "ref is a query key that is dropped"),
        (r"^news/", "write ^/news/"),
        (r"^/\\d+", "means a backslash"),
        (r"^/a - ^/b", "write each pattern on a line of its own"),
        (r"^/news/\d+#comments", "address after #"),
        (r"^/ok/\d+", ""),
        (r"^/a[ +]b", ""),
        (r"^/a ?b|^/c d", ""),
        (r"[?&]id=\d+", ""),
        (r"^news|/x", ""),
    ],
)
def test_patterns_that_can_never_match_get_a_hint(tmp_path: Path, pattern: str, why: str) -> None:
    path = tmp_path / "example.org.yaml"
    path.write_text(f"domain: example.org\ndrop_query: ref\narticle: '{pattern}'\n", encoding="utf-8")
    hints = [hint.text for hint in find_hints(read_files([path])) if "never matches" in hint.text]
    assert len(hints) == bool(why)
    assert all(why in hint for hint in hints)
