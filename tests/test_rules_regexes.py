"""Patterns that can run away are refused; those that are accepted do not."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.rules.regexes import compile_pattern
from newsbot.rules.samples import samples

REFUSED = [
    (r"(a+)+", "repeats another"),
    (r"(a+)+$", "repeats another"),
    (r"(?:a*b?)*", "can be empty"),
    (r"(a*)*", "can be empty"),
    (r"(a?){20}", "can be empty"),
    (r"(|a)+", "can be empty"),
    (r"(.*a){10,}", "in two ways"),
    (r"(.*a){10}", "more than two parts"),
    (r"(a{1,50}){1,50}", "repeats another"),
    (r"(\w+\s?)*$", "repeats another"),
    (r"^(?:\w+-?)+$", "repeats another"),
    (r"(?:[^/]+/?)+x", "repeats another"),
    (r"((ab)+c?)+d", "repeats another"),
    (r"(a|a)*", "in two ways"),
    (r"(?:ab|ab)*", "in two ways"),
    (r"(\w|\d)+", "in two ways"),
    (r"(a|aa)+$", "in two ways"),
    (r"(?:ab|a|b)*c", "in two ways"),
    (r"(?i)(a|AA)+$", "in two ways"),
    (r".*.*.*", "more than two parts"),
    (r"a+a+a+b", "more than two parts"),
    (r"\d+\w+[a-z0-9]*x", "more than two parts"),
    (r"x.*.*y", "begins anywhere"),
    (r"/.+/.+\.html$", "begins anywhere"),
    (r"a?a?a?a?a?a?a?a?a?a?b", "optional parts"),
    (r"(a|ab)(a|ab)(a|ab)(a|ab)(a|ab)(a|ab)(a|ab)(a|ab)(a|ab)", "optional parts"),
    (r"(a)\1", "backreferences"),
    (r"(a)?(?(1)b|c)", "conditional groups"),
    (r"(?=.*x)a", "look-ahead"),
    (r"(?!.+x)a", "look-ahead"),
    (r"(?<=a+)b", "look-behind requires fixed-width"),
    (r"(?!(a)\1)b", "backreferences"),
    (r"\d{1000}", "above 100"),
    (r"(?:[ab]{100}){100}", "too long"),
    (r"(?m)^a", "only (?i) is allowed"),
    (r"(?s:.)a", "only (?i) is allowed"),
    (r"(?x) a b", "only (?i) is allowed"),
    (r"(", "at character 1"),
    (r"a{99999999999999999999}", "too large"),
    ("(" * 400 + ")" * 400, "deeply nested"),
    ("a" * 1001, "at most 1000"),
    ("", "empty pattern"),
]

ACCEPTED = [
    r"^/news/\d{4}/\d{2}/\d{2}/[\w-]+/?$",
    r"/\d+",
    r"^/news/.+/.+\.html",
    r"/news/[^/]+/[^/]+\.html$",
    r"[\w-]+-\d+\.html$",
    r".*.*",
    r"^(?:/[^/]+)+/\d+$",
    r"^/(?:[a-z]{2}/)?(?:news/)?\d{4}/?$",
    r"(?i)^/(politics|people|panorama|photo|news|newsletter)/(a|b)/\d{1,2}-[a-z]*$",
    r"^/(?!video/)\w+/\d+",
    r"(?<!/video)/\d+$",
    r"/(?:a|b)+/x",
    r"^/[a-z]+(?:/[a-z]+)*/[a-z0-9-]+-\d{5,}\.html?(?:\?|$)",
    r"(a{1,3}b)+",
    r"\bnews\b",
    r"^/article/[0-9a-f]{32}$",
    r"\w+(?:-\w+)*",
    r"(?>a+)b",
    r"a++b",
    r"[^a]\d*+",
    r"(?P<year>20\d\d)/(?P<day>\d\d)",
    r"/новости/",
]


@pytest.mark.parametrize(("text", "part"), REFUSED, ids=[text[:30] for text, _ in REFUSED])
def test_refused(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=re.escape(part)):
        compile_pattern(text)


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    assert compile_pattern(text).pattern == text


def run_in_a_process(work: list[tuple[str, str]]) -> subprocess.CompletedProcess[str]:
    """Search each pattern in each text, in a process that is stopped after a generous time."""
    code = """if True:
        import json, re, sys
        for pattern, text in json.load(sys.stdin):
            re.compile(pattern, re.ASCII).search(text)
        print("done")
    """
    return subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(work),
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )


def hostile(pattern: str, size: int) -> list[str]:
    """Texts that repeat what the pattern likes, and end in what it does not."""
    found = samples(re.compile(pattern, re.ASCII))[:2]
    pieces = [
        *found,
        *(piece.strip("/") for piece in found),
        "a",
        "/",
        "1",
        "-",
        "ab",
        "/a",
        "/1",
        "-1",
        "a/",
    ]
    return [(piece * size)[:size] + end for piece in dict.fromkeys(pieces) if piece for end in ("", "\n!")]


def test_accepted_patterns_end_on_ten_thousand_hostile_characters() -> None:
    work = [(pattern, text) for pattern in ACCEPTED for text in hostile(pattern, 10_000)]
    done = run_in_a_process(work)
    assert done.stdout.strip() == "done", done.stderr


ATOMS = st.sampled_from(
    ["a", "b", "/", "1", "-", ".", r"\d", r"\w", "[ab]", "[^/]", "[a1-]", "ab", "^", "$", "a|b"]
)


def composed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeat = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"])
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, repeat),
    )


LOOPS = st.builds(
    "{}{}".format, st.sampled_from(["a", "[ab]", ".", r"\w", "[^/]", "(?:a|b)"]), st.sampled_from("*+")
)
CHAINS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "^", "a", "/"]),
    st.lists(st.one_of(LOOPS, st.sampled_from(["/", "-", "a"])), min_size=2, max_size=6).map("".join),
    st.sampled_from(["", "$", "x", "-x"]),
)


def test_accepted_random_patterns_end_on_hostile_texts() -> None:
    accepted: set[str] = set()

    @settings(max_examples=500, deadline=None, database=None)
    @given(st.one_of(CHAINS, st.recursive(ATOMS, composed, max_leaves=8)))
    def collect(pattern: str) -> None:
        try:
            compile_pattern(pattern)
        except ValueError:
            return
        accepted.add(pattern)

    collect()
    assert len(accepted) > 100
    # Cubic time is some seconds for each text of 2,000 characters, exponential time is for ever.
    texts = ["a" * 2_000 + "\n!", "a-" * 1_000 + "\n!", "/a" * 1_000 + "\n!"]
    done = run_in_a_process([(pattern, text) for pattern in sorted(accepted) for text in texts])
    assert done.stdout.strip() == "done", done.stderr


def test_samples_match_their_pattern() -> None:
    assert samples(re.compile(r"^/(?:news|doc)/\d+(?:x|y)?$")) == ["/news/1", "/doc/1"]
    assert samples(re.compile(r"\.s?html$")) == ["/.html"]
    assert samples(re.compile(r"(?!/)never")) == ["/never"]
