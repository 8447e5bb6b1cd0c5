"""The arguments of ``scrapy crawl news``."""

import os
from datetime import UTC, datetime

import pytest

from newsbot.crawl.scope import HELP, addresses, parse_arguments
from newsbot.errors import ArgumentError

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def test_without_arguments_all_sites_are_crawled_once():
    arguments = parse_arguments({}, now=NOW)
    assert arguments.mode == "once"
    assert not arguments.sites
    assert not arguments.named


def test_all_arguments_together(tmp_path):
    listed = tmp_path / "urls.txt"
    listed.write_text("# mine\nhttps://a.example/1\n\nhttps://a.example/2\n", encoding="utf8")
    arguments = parse_arguments(
        {
            "sites": "Lenta.ru, bbc.com",
            "url": "example.org/news/1",
            "urls": "https://b.example/x https://b.example/y",
            "urls_file": str(listed),
            "follow": "links,feeds",
            "since": "2026-11-20",
            "until": "2026-11-21T10:00+03:00",
            "max_articles": "10",
            "max_articles_per_site": "2",
            "mode": "continuous",
            "dry_run": "yes",
        },
        now=NOW,
    )
    assert arguments.sites == ("lenta.ru", "bbc.com")
    assert arguments.urls == (
        "https://example.org/news/1",
        "https://b.example/x",
        "https://b.example/y",
        "https://a.example/1",
        "https://a.example/2",
    )
    assert arguments.follow == ("feeds", "links")
    assert arguments.since == datetime(2026, 11, 20, tzinfo=UTC)
    assert arguments.until == datetime(2026, 11, 21, 7, tzinfo=UTC)
    assert (arguments.max_articles, arguments.max_articles_per_site) == (10, 2)
    assert arguments.mode == "continuous"
    assert arguments.dry_run
    assert arguments.named


def test_an_age_counts_back_from_now():
    assert parse_arguments({"since": "12h"}, now=NOW).since == datetime(2026, 11, 21, 0, 0, tzinfo=UTC)


def test_feeds_from_a_list_a_file_and_opml(tmp_path):
    assert parse_arguments({"feeds": "https://a.example/rss"}, now=NOW).feeds == ("https://a.example/rss",)
    opml = tmp_path / "mine.opml"
    opml.write_text(
        '<opml version="2.0"><body>'
        '<outline text="x"><outline xmlUrl="https://a.example/f?a=1&amp;b=2"/></outline>'
        '<outline text="no feed"/></body></opml>',
        encoding="utf8",
    )
    assert parse_arguments({"feeds": str(opml)}, now=NOW).feeds == ("https://a.example/f?a=1&b=2",)


def test_an_entity_bomb_in_opml_is_refused_in_one_line(tmp_path):
    opml = tmp_path / "bomb.opml"
    opml.write_text(
        '<!DOCTYPE o [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
        '<opml><body><outline xmlUrl="&b;"/></body></opml>',
        encoding="utf8",
    )
    with pytest.raises(ArgumentError, match="OPML"):
        parse_arguments({"feeds": str(opml)}, now=NOW)


def test_the_job_argument_of_scrapyd_is_accepted():
    assert parse_arguments({"_job": "abc"}, now=NOW).mode == "once"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"site": "lenta.ru"}, "did you mean 'sites'"),
        ({"nonsense": "1"}, "allowed: sites, url, urls"),
        ({"url": "ftp://example.org/"}, "url=ftp://example.org/"),
        ({"urls_file": "/nowhere/urls.txt"}, "cannot be read"),
        ({"feeds": "missing.opml"}, "cannot be read"),
        ({"feeds": "/nowhere/my.opml"}, "feeds=/nowhere/my.opml: cannot be read"),
        ({"feeds": "./feeds"}, "cannot be read"),
        ({"url": "word"}, "url=word: is not an address; write for example https://example.org/news/1"),
        (
            {"url": "localhost:1313"},
            "url=localhost:1313: is not an address (did you mean 'http://localhost:1313'?)",
        ),
        ({"url": "htps://example.org/"}, "(did you mean 'https://example.org/'?)"),
        (
            {"url": "https:/example.org/"},
            "url=https:/example.org/: is not an address (did you mean 'https://ex",
        ),
        (
            {"urls_file": os.devnull},
            f"urls_file={os.devnull}: the file is empty; write one entry per line",
        ),
        ({"follow": "everything"}, "feeds,sitemaps,sections,links"),
        ({"since": "yesterday"}, "2026-11-20"),
        ({"since": "5"}, "2026-11-20"),
        ({"since": "1d", "until": "2d"}, "no article would match"),
        ({"max_articles": "0"}, "whole number above 0"),
        ({"max_articles": "many"}, "whole number above 0"),
        ({"mode": "twice"}, "once (until no URL is due) or continuous"),
        ({"dry_run": "maybe"}, "yes or no"),
    ],
)
def test_a_wrong_argument_gets_one_line_that_says_what_is_allowed(arguments, says):
    with pytest.raises(ArgumentError) as caught:
        parse_arguments(arguments, now=NOW)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_argument_has_a_help_line():
    assert all(text for text in HELP.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://a.test/7,75398,301,rada-miasta.html", 1),
        ("a.test/7,75398,301,rada-miasta.html", 1),
        ("https://a.test/?ids=1,2.5 https://b.test/x,y", 2),
        ("https://a.test/1,2,https://b.test/3", 2),
        ("https://a.test/1, https://b.test/2,", 2),
        ("a.test,b.test,c.test/news", 3),
        ("https://a.test,b.test", 2),
        ("a.test/1,b.test/2", 2),
        ("https://a.test/;x=1,v1.2/story", 1),
    ],
)
def test_commas_in_addresses_separate_nothing(text: str, expected: int) -> None:
    found = addresses(text)
    assert len(found) == expected
    assert ",".join(found).replace(" ", "") == text.replace(", ", ",").replace(" ", ",").rstrip(",")
    assert len(parse_arguments({"url": text}, now=NOW).urls) == expected
    assert len(parse_arguments({"feeds": text}, now=NOW).feeds) == expected
