"""Rights reservations of sites: directives of pages, TDMRep, and AI rules in robots.txt."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from newsbot.rights import opted_out, page_rights, read_robots, read_tdmrep

URL = "https://news.test/story/1?page=2"


def page(*metas: str):
    return html.document_fromstring(f"<html><head>{''.join(metas)}</head><body><p>x</p></body></html>")


def meta(name: str, content: str) -> str:
    return f'<meta name="{name}" content="{content}">'


@pytest.mark.parametrize(
    ("value", "index", "follow"),
    [
        ("noindex", False, True),
        ("nofollow", True, False),
        ("NOINDEX , nofollow", False, False),
        ("none", False, False),
        ("index, follow", True, True),
        ("googlebot: noindex, nofollow", True, True),
        ("newsbot: noindex", False, True),
        ("otherbot: nofollow, newsbot: noindex", False, True),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", False, True),
        ("max-snippet:20, nofollow", True, False),
        ("", True, True),
    ],
)
def test_the_header_applies_to_all_crawlers_or_to_one(value, index, follow):
    rights = page_rights({"x-robots-tag": [value]})
    assert (rights.index, rights.follow) == (index, follow)


def test_the_header_and_elements_are_combined_and_any_prohibition_applies():
    tree = page(
        meta("Robots", "index, noarchive"), meta("newsbot", "nofollow, noai"), meta("bingbot", "noindex")
    )
    rights = page_rights({"x-robots-tag": ["noimageai", "otherbot: noindex"]}, tree)
    assert (rights.index, rights.follow, rights.archive) == (True, False, False)
    assert rights.signals == {"noai": "meta", "noimageai": "header", "noarchive": "meta"}


def test_the_most_specific_statement_on_mining_applies():
    site = {"tdm-reservation": "/.well-known/tdmrep.json", "tdm-policy": "https://news.test/policy"}
    assert page_rights({}, page(), site).signals == site
    freed = page_rights({}, page(meta("tdm-reservation", "0")), site)
    assert freed.signals == {}
    header = {"tdm-reservation": ["0"]}
    rights = page_rights(
        header, page(meta("tdm-reservation", "1"), meta("tdm-policy", "https://a.test/p")), site
    )
    assert rights.signals == {"tdm-reservation": "meta", "tdm-policy": "https://a.test/p"}
    assert page_rights({"tdm-reservation": ["1"]}).signals == {"tdm-reservation": "header"}
    assert page_rights({"content-usage": ["train-ai=n"]}).signals == {"ai-train": "header"}


def tdmrep(*rules: tuple[str, int]):
    return read_tdmrep(
        json.dumps([{"location": where, "tdm-reservation": no} for where, no in rules]).encode()
    )


@pytest.mark.parametrize(
    ("rules", "reserved"),
    [
        ([("/", 1)], True),
        ([("*", 1)], True),
        ([("story/", 1)], True),
        ([("/", 1), ("/story/", 0)], False),
        ([("/story/", 0), ("/", 1)], False),
        ([("/story/", 0), ("/story/", 1)], True),
        ([("/*page=2$", 1)], True),
        ([("/*page=$", 1)], False),
        ([("/story/1", 1)], True),
        ([("/story/1$", 1)], False),
        ([("/other", 1)], False),
    ],
)
def test_the_longest_location_decides(rules, reserved):
    assert ("tdm-reservation" in tdmrep(*rules).signals(URL)) == reserved


def test_the_policy_is_a_signal():
    parsed = read_tdmrep(
        b'[{"location": "/", "tdm-reservation": 1, "tdm-policy": "https://news.test/p.json"}]'
    )
    assert parsed.signals(URL)["tdm-policy"] == "https://news.test/p.json"


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=8),
            lambda inner: (
                st.lists(inner) | st.dictionaries(st.sampled_from(["location", "tdm-reservation"]), inner)
            ),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_any_file_is_read_without_a_fault(body):
    signals = read_tdmrep(body).signals(URL)
    assert set(signals) <= {"tdm-reservation", "tdm-policy"}
    assert set(read_robots(body.decode("utf8", "replace")).signals(URL, lambda *_: True)) <= {"ai-comment"}


CLOSED = "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n"


def test_prohibitions_for_ai_crawlers_are_a_signal():
    assert read_robots(CLOSED).everywhere == {"ai-agents": "robots.txt (GPTBot and 1 more)"}
    assert read_robots(CLOSED.replace("GPTBot", "Otherbot").replace("CCBot", "Thirdbot")).everywhere == {}
    assert read_robots("User-agent: GPTBot\nDisallow:\n").everywhere == {}


def test_prohibitions_for_a_part_of_a_site_are_a_signal_there():
    parsed = read_robots("User-agent: ClaudeBot\nDisallow: /story/\n")
    assert parsed.everywhere == {}
    forbids_stories = lambda url, agent: agent != "ClaudeBot" or "/story/" not in url  # noqa: E731
    assert parsed.signals(URL, forbids_stories) == {"ai-agents": "robots.txt (ClaudeBot)"}
    assert parsed.signals("https://news.test/other", forbids_stories) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User-agent: *\nContent-Signal: search=yes, ai-train=no\n", {"ai-train"}),
        ("Content-Signal: ai-train=no,ai-input=no\nUser-agent: *\nAllow: /\n", {"ai-train", "ai-input"}),
        ("User-agent: Otherbot\nContent-Signal: ai-train=no\n", set()),
        ("User-agent: *\nContent-Usage: /story/ train-ai=n\n", {"ai-train"}),
        (
            "# Rights reserved under Article 4 of 2019/790\nUser-agent: *\nContent-Signal: ai-train=yes\n",
            set(),
        ),
        ("# No text and data mining without a licence\nUser-agent: *\nAllow: /\n", {"ai-comment"}),
        ("# You may not use our content to train or develop any AI model\n", {"ai-comment"}),
        ("# Обучение искусственного интеллекта на материалах сайта запрещено\n", {"ai-comment"}),
        ("# trains and railways: see /sitemap.xml\nUser-agent: *\nDisallow:\n", set()),
        ("# said by Kai about training\nUser-agent: *\n", set()),
    ],
)
def test_usage_lines_and_comments(text, expected):
    assert set(read_robots(text).everywhere) == expected


def test_signals_of_an_opt_out():
    assert opted_out({"noai": "meta"})
    assert opted_out({"ai-comment": "robots.txt"})
    assert not opted_out({"noarchive": "meta", "noindex": "header", "tdm-policy": "https://a.test/"})
    assert not opted_out({})
