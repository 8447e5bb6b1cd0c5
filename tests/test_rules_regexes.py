"""The syntax and meaning of patterns; no accepted pattern is slow on a hostile URL."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.authoring.command import samples
from newsbot.pages.rules.rule import MAX_LENGTH, PatternSet, compile_pattern

REFUSED = [
    (r"(a)\1", "back-references are not supported"),
    (r"(?P<a>x)(?P=a)", "back-references are not supported"),
    (r"(a)?(?(1)b|c)", "conditional groups are not supported"),
    (r"(?=.*x)a", "look-ahead is not supported; write out"),
    (r"^/(?!video/)\w+", "put what must not match into a deny pattern"),
    (r"(?<=a)b", "look-behind is not supported; write out"),
    (r"(?<!/video)/\d+$", "put what must not match into a deny pattern"),
    (r"(?>a+)b", "atomic groups"),
    (r"a++b", "possessive repeats are not supported and not needed; write +"),
    (r"a*+b", "possessive repeats are not supported and not needed; write *"),
    (r"a\Z", "write $"),
    (r"\u041d", "percent-encoded"),
    (r"(?x) a b", "the flag x"),
    (r"(?#x)a", "comments"),
    (r"\d{2000}", "repeats too much"),
    (r"(?:[ab]{100}){100}", "repeats too much"),
    (r"a{99999999999999999999}", "is not a repeat count"),
    (r"a{,5}", "is not a repeat count"),
    (r"[^/]{1000}[^/]{1000}", "too large"),
    (r"(", "missing )"),
    (r"[b-a]", "invalid character class range: b-a"),
    ("\ud800", "half of a surrogate pair"),
    ("a" * (MAX_LENGTH + 1), "at most 1000"),
    ("", "empty pattern"),
]

ACCEPTED = [
    r"^/news/\d{4}/\d{2}/\d{2}/[\w-]+/?$",
    r"/\d+",
    r"^/news/.+/.+\.html",
    r"/news/[^/]+/[^/]+\.html$",
    r"[\w-]+-\d+\.html$",
    r".*.*.*",
    r"(a+)+$",
    r"(a|a)*b",
    r"(?:a*b?)*c",
    r"^(?:/[^/]+)+/\d+$",
    r"^/(?:[a-z]{2}/)?(?:news/)?\d{4}/?$",
    r"(?i)^/(politics|people|panorama|photo|news|newsletter)/(a|b)/\d{1,2}-[a-z]*$",
    r"^/[a-z]+(?:/[a-z]+)*/[a-z0-9-]+-\d{5,}\.html?(?:\?|$)",
    r"(a{1,3}b)+",
    r"\bnews\b",
    r"^/article/[0-9a-f]{32}$",
    r"[^a]\d*?",
    r"(?P<year>20\d\d)/(?P<day>\d\d)",
    r"/новости/",
]


@pytest.mark.parametrize(("text", "part"), REFUSED, ids=[ascii(text[:30]) for text, _ in REFUSED])
def test_refused(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=re.escape(part)):
        compile_pattern(text)


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    assert compile_pattern(text).pattern == text


RUNS_AWAY_IN_PYTHON = {r"(a+)+$", r"(a|a)*b", r"(?:a*b?)*c"}
CLASSES = [r"(?i)k", r"\W\d", r"\D$", r"\b0", r"\B9", r"\.\w{2,3}$", r"[^\w/]", r"^/$", r"\S{5}", r"\sa"]
PATHS = st.text("aZkK09/_-.?=&%{}~+:", max_size=30).map("/".__add__)


@given(PATHS)
def test_a_pattern_matches_urls_as_in_python(path: str) -> None:
    for text in [*ACCEPTED, *CLASSES]:
        if text in RUNS_AWAY_IN_PYTHON:
            continue
        expected = re.search(text, path, re.ASCII) is not None
        assert (PatternSet([text]).first(path) is not None) == expected, text
        assert (compile_pattern(text).search(path) is not None) == expected, text


def test_the_first_of_several_patterns_is_returned() -> None:
    patterns = PatternSet(["b", "^/a", "a", "^/a/b"])
    assert [patterns.first(path) for path in ("/b", "/a", "/xa", "/a/b", "/", "/\ud800a")] == [
        0,
        1,
        2,
        0,
        None,
        2,
    ]
    assert PatternSet([]).first("/a") is None


def test_many_large_patterns_are_searched_together() -> None:
    texts = [f"{number}(?:[^/]{{1,80}}/){{8}}x$" for number in range(100, 200)]
    patterns = PatternSet(texts)
    assert patterns.first("/177" + "some-words/" * 8 + "x") == 77
    assert patterns.first("/177" + "some-words/" * 8) is None


def test_accepted_patterns_are_fast_on_hostile_urls() -> None:
    """A backtracking engine would practically never end; the time limit is generous."""
    hostile = [
        r"(a+)+$",
        r"(a|a)*b",
        r"(a|aa)+$",
        r"(\w+-?)*$",
        r".*.*.*.*.*x",
        r"(?:a?){100}b",
        r"(a{1,50}){1,9}c",
    ]
    code = f"""if True:
        from newsbot.pages.rules.rule import PatternSet, compile_pattern
        for text in ("a" * 2_000 + "!", "a-" * 1_000 + "!", "/a" * 1_000 + "!"):
            PatternSet({hostile!r}).first(text)
            for pattern in {hostile!r}:
                compile_pattern(pattern).search(text)
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "done", done.stderr


def test_samples_match_their_pattern() -> None:
    assert samples(r"^/(?:news|doc)/\d+(?:x|y)?$") == ["/news/1", "/doc/1"]
    assert samples(r"^/(?:a|b[xy])/$") == ["/a/", "/bx/", "/by/"]
    assert samples(r"\.s?html$") == ["/.html"]
    assert samples(r"(?i)^/[^/?]{3}\.html?(?:\?|$)") == ["/aaa.htm?", "/aaa.htm"]
    assert samples(r"^/[]x]\b") == ["/x"]
    assert samples("^never") == []


@pytest.mark.parametrize("text", ACCEPTED)
def test_each_usual_pattern_has_a_sample(text: str) -> None:
    assert samples(text)
