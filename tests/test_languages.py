"""The words and phrases of languages: each entry is needed, and files with mistakes are refused.

``data/languages/<code>.yaml`` has an example for each entry of
``newsbot/pages/extraction/languages/<code>.yaml``: a text that is read correctly only with this entry.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
import yaml
from lxml.html import document_fromstring

from newsbot.pages.extraction import is_substantial, verdict
from newsbot.pages.extraction.addresses import is_continuation
from newsbot.pages.extraction.body.furniture import is_foreign
from newsbot.pages.extraction.fields import authors, moments, titles
from newsbot.pages.extraction.fields import date_candidates as candidates
from newsbot.pages.extraction.fields import details as kinds_and_paywalls
from newsbot.pages.extraction.fields import moments as zones
from newsbot.pages.extraction.fields.authors import agency_of, clean_authors
from newsbot.pages.extraction.fields.moments import find_date, relative_moment
from newsbot.pages.extraction.fields.titles import clean_title
from newsbot.pages.extraction.page import Page
from newsbot.pages.extraction.parsing import OPENS
from newsbot.pages.text import languages
from newsbot.pages.text import languages as language
from newsbot.pages.text import names as names_in_text
from newsbot.pages.text.languages import (
    KINDS,
    Language,
    compiled,
    detect,
    expression,
    normal_code,
    phrases,
    read,
)
from newsbot.pages.text.names import hours_ahead
from newsbot.pages.text.words import COMMENTS_HEADING

EXAMPLES = Path(__file__).parent / "data" / "languages"
NOW = datetime(2024, 5, 3, 9, 30, tzinfo=UTC)
LANGUAGES = languages.languages()
CODES = list(LANGUAGES)
JANE, BOTH = ["Jane Doe"], ["Jane Doe", "John Roe"]


def _written(text: str, code: str) -> str:
    found = find_date(text, code)
    return found.local.isoformat(" ", "minutes") if found is not None and found.precision != "day" else ""


def _relative(text: str) -> timedelta | None:
    found = relative_moment(text, NOW, UTC)
    return NOW.replace(tzinfo=None) - found.local if found is not None else None


def _labelled(line: str) -> list[str]:
    tree = document_fromstring(f"<html><body><p>{line}</p></body></html>")
    return authors._labelled_names(Page.read(tree, "https://www.example.org/news/rain.html"))


def _in_form(template: str) -> Callable[[str, str], bool]:
    return lambda text, _: compiled(template).search(text) is not None


def _byline(expected: list[str]) -> Callable[[str, str], bool]:
    return lambda text, _: clean_authors([text]) == expected


def _foreign(text: str, _: str) -> bool:
    return is_foreign.__wrapped__(text)


def _clock(expected: str) -> Callable[[str, str], bool]:
    return lambda text, code: _written(text, code).endswith(expected)


def _title(*sites: str) -> Callable[[str, str], bool]:
    return lambda text, _: clean_title(text, sites).rstrip("月") in ("Rain in May", "雨在五")


CHECKS: Mapping[str, Callable[[str, str], bool]] = {
    "codes": lambda text, code: normal_code(text) == code,
    "script": lambda text, code: detect(text) == code,
    "letters": lambda text, code: detect(text) == code,
    "stop_words": lambda text, code: detect(text) == code,
    "country": lambda text, _: bool(list(zones._zone_names("www.example.com", text))),
    "months": lambda text, code: _written(text, code).endswith("14:05"),
    "solar_months": lambda text, code: find_date(text, code) is not None,
    "nepali_months": lambda text, code: find_date(text, code) is not None,
    "weekdays": _clock("14:05"),
    "ordinals": _clock("14:05"),
    "of": _clock("14:05"),
    "year": _clock("14:05"),
    "at": _clock("14:05"),
    "am": _clock("00:05"),
    "am_before": _clock("00:05"),
    "pm": _clock("14:05"),
    "pm_before": _clock("14:05"),
    "clock": lambda text, code: (date := find_date(text, code)) is not None and date.zone is not None,
    "zones": lambda text, code: hours_ahead(text, 12, code) == float(languages.pairs("zones")[code][text]),
    "today": lambda text, _: _relative(text) == timedelta(hours=9, minutes=30),
    "yesterday": lambda text, _: _relative(text) == timedelta(days=1, hours=9, minutes=30),
    "minutes": lambda text, _: _relative(text) == timedelta(minutes=5),
    "hours": lambda text, _: _relative(text) == timedelta(hours=9, minutes=30),
    "days": lambda text, _: _relative(text) == timedelta(days=5, hours=9, minutes=30),
    "one": lambda text, _: _relative(text) is not None,
    "ago": lambda text, _: _relative(text) is not None,
    "ago_before": lambda text, _: _relative(text) is not None,
    "published": lambda text, code: _written(candidates._from_publication(text), code).startswith(
        "2024-05-03"
    ),
    "updated": _in_form("%(updated)s"),
    "other_dates": lambda text, _: candidates._worded(text, 0.5) < 0.5,
    "dated": lambda text, _: candidates._worded(text, 0.5) > 0.5,
    "by": _byline(JANE),
    "bylines": _byline(JANE),
    "byline_labels": _byline(JANE),
    "author_labels": lambda text, _: _labelled(text) == ["Jane"],
    "other_makers": lambda text, _: not _labelled(text),
    "and": _byline(BOTH),
    "and_in_lower_case": _byline(BOTH),
    "text_labels": _byline(BOTH),
    "photo_labels": lambda text, _: clean_authors([text])[0] == "Jane Doe",
    "translated": _byline(BOTH),
    "edited": _byline(JANE),
    "in_places": _byline(JANE),
    "roles": _byline(JANE),
    "role_kinds": _byline(JANE),
    "roles_behind": _byline(JANE),
    "degrees": _byline(JANE),
    "after_names": _byline(JANE),
    "on": _byline(JANE),
    "not_names": _byline(JANE),
    "no_authors": _byline([]),
    "agencies": lambda text, _: agency_of(text) is not None,
    "agency_words": lambda text, _: agency_of(text) == "Reuters",
    "site_words": _title("bbc", "rt"),
    "articles": _title("nherald"),
    "site_ends": _title(),
    "page": _title(),
    "no_titles": lambda text, _: not titles._usable(text, []),
    "url_pages": lambda text, _: is_continuation("https://example.org/rain", f"https://example.org/{text}"),
    "live": _in_form(kinds_and_paywalls._LIVE_TITLE),
    "live_anywhere": _in_form(kinds_and_paywalls._LIVE_TITLE),
    "live_paths": _in_form(kinds_and_paywalls._LIVE_PATH),
    "galleries": _in_form(kinds_and_paywalls._GALLERY_TITLE),
    "gallery_ends": _in_form(kinds_and_paywalls._GALLERY_TITLE),
    "gallery_paths": _in_form(kinds_and_paywalls._GALLERY_PATH),
    "paywalls": _in_form("%(paywalls)s"),
    "errors": lambda text, _: verdict.is_error(text),
    "error": lambda text, _: verdict.is_error(text),
    "challenges": lambda text, _: verdict.is_challenge(text),
    "negations": lambda text, _: is_substantial(("Rain", "Rain in May"), ("Rain", text)),
    "number_words": lambda text, _: is_substantial(("Rain", "Rain in May"), ("Rain", text)),
    "logins": lambda text, _: verdict.is_login(text),
    "consent": lambda text, _: verdict.asks_consent(text),
    "new_windows": _in_form(OPENS),
    "comments": _in_form(COMMENTS_HEADING),
    "read_also": _foreign,
    "labels": _foreign,
    "appeals": _foreign,
    "credits": _foreign,
}
"""For each kind, whether an example is read correctly. Arguments: the example and its language code."""


@cache
def examples(code: str) -> Mapping[str, Mapping[str, str]]:
    """Return the examples of a language by kind and entry."""
    text = (EXAMPLES / f"{code}.yaml").read_text(encoding="utf-8")
    return dict(yaml.load(text, Loader=yaml.BaseLoader))


def entries(code: str) -> Iterator[tuple[str, str]]:
    """Yield each kind of a language and each of its entries.

    The twelve months are one entry (``all``), and so are the function words.
    """
    content = LANGUAGES[code]
    for kind, found in content.lists.items():
        yield from ((kind, one) for one in (("all",) if kind in WHOLE else found))
    for kind, mapping in content.pairs.items():
        for name, value in mapping.items():
            yield from ((kind, one.strip()) for one in (value.split(",") if kind == "agencies" else (name,)))


WHOLE = ("months", "stop_words")


def without(code: str, kind: str, entry: str) -> dict[str, Language]:
    """Return all languages without one entry. It is removed from all files, because languages share words."""
    if kind == "months":
        names = {name for names in LANGUAGES[code].lists[kind] for name in names.split("/")}
        dropped = {one for other in LANGUAGES.values() for one in other.lists.get(kind, ())}
        left = {one: "/".join(name for name in one.split("/") if name not in names) or "-" for one in dropped}
        return _changed(kind, lambda _, found: tuple(left[one] for one in found))
    if kind in WHOLE:
        return _changed(kind, lambda other, found: () if other == code else found)
    return _changed(kind, lambda _, found: tuple(one for one in found if one != entry))


def _changed(kind: str, change: Callable[[str, tuple[str, ...]], tuple[str, ...]]) -> dict[str, Language]:
    """Return all languages with other entries of a kind. A mapping is changed by its names or spellings."""
    changed = {}
    for code, content in LANGUAGES.items():
        lists, pairs = dict(content.lists), dict(content.pairs)
        if kind in lists:
            lists[kind] = change(code, lists[kind])
            if not lists[kind]:
                del lists[kind]
        if kind == "agencies" and kind in pairs:
            pairs[kind] = {
                name: ",".join(change(code, tuple(one.strip() for one in value.split(","))))
                for name, value in pairs[kind].items()
            }
        elif kind in pairs:
            left = change(code, tuple(pairs[kind]))
            pairs[kind] = {name: value for name, value in pairs[kind].items() if name in left}
        changed[code] = replace(content, lists=lists, pairs=pairs)
    return changed


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Mapping[str, Language] | None], None]]:
    """Return a function that makes newsbot use other languages, or its own languages again (None)."""
    real = languages.languages

    def change(content: Mapping[str, Language] | None) -> None:
        monkeypatch.setattr(languages, "languages", real if content is None else lambda: content)
        for cached in (
            languages.by_language,
            languages.phrases,
            languages.words,
            languages.compiled,
            moments._forms,
            authors._agencies,
            authors._names,
            language._renamed,
            language._by_script,
            language._languages_of_word,
        ):
            cached.cache_clear()
        importlib.reload(names_in_text)

    yield change
    change(None)


@pytest.mark.parametrize("code", CODES)
def test_each_entry_is_needed(code: str, use: Callable[[Mapping[str, Language] | None], None]) -> None:
    known = examples(code)
    assert {(kind, entry) for kind, texts in known.items() for entry in texts} == set(entries(code))
    for kind, entry in entries(code):
        text = known[kind][entry]
        assert CHECKS[kind](text, code), f"{kind}: {text!r} is not read correctly"
    for kind, entry in entries(code):
        text = known[kind][entry]
        use(without(code, kind, entry))
        assert not _passes(CHECKS[kind], text, code), f"{kind}: {entry!r} is not needed for {text!r}"


def _passes(check: Callable[[str, str], bool], text: str, code: str) -> bool:
    try:
        return check(text, code)
    except (KeyError, IndexError):  # the entry itself was looked up
        return False


def test_each_kind_is_used_and_documented() -> None:
    assert set(CHECKS) == set(KINDS)
    docs = (Path(__file__).parent.parent / "docs" / "languages.md").read_text(encoding="utf-8")
    assert "(../newsbot/pages/text/kinds.yaml)" in docs
    for kind in KINDS.values():
        assert f"- `{kind.form}`: " in docs
        assert kind.meaning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("todai:\n- heute", "xx.yaml:1: unknown key 'todai' (did you mean 'today'?)"),
        ("today:\n- heute\n- heute", "xx.yaml:3: 'heute' occurs twice"),
        ("today:\n- heute\ntoday:\n- heut", "xx.yaml:3: the key 'today' occurs twice"),
        ("today: heute", "xx.yaml:1: a list is expected"),
        ("today:\n- [heute]", "xx.yaml:2: text is expected"),
        ("months:\n- januar", "xx.yaml:2: twelve months are expected, not 1"),
        ("paywalls:\n- jetzt (bald", "xx.yaml:2: 'jetzt (bald': parentheses must be balanced"),
        ("paywalls:\n- jetzt|bald", "xx.yaml:2: 'jetzt|bald': parentheses must be balanced"),
        ("- heute", "xx.yaml:1: a mapping is expected"),
        ("", "xx.yaml:1: a mapping is expected"),
        ("a: 1\n  b: 2", "xx.yaml:2: "),
    ],
)
def test_a_mistake_is_reported_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        read("xx", text.encode(), "xx.yaml")


def test_a_file_is_bounded() -> None:
    with pytest.raises(ValueError, match="longer than"):
        read("xx", b"#" * (languages.MAX_BYTES + 1), "xx.yaml")


@pytest.mark.parametrize(
    ("phrase", "texts", "others"),
    [
        ("log-in to read", ["Log in to read", "login to read", "LOG-IN to read"], ["blog in to read"]),
        ("the (big|) house", ["the house", "the big house"], ["the bighouse"]),
        ("(any|) house", ["a house", "any house"], ["houses"]),
        ("sign (up|)", ["sign", "sign up"], ["signs"]),
        ("related (stories|):", ["related:", "related stories:"], ["related stories"]),
        ("subscri* … read", ["subscribe now to read"], ["subscribe " + "x" * 70 + " read"]),
        ("a.m.", ["a.m.", "am", "a. m."], ["amp"]),
        ("^just a moment", ["Just a moment …"], ["not just a moment"]),
        ("^oops$", ["Oops!"], ["Oops, he said"]),
        ("今天", ["就在今天上午"], []),
        ("\\(e\\)ko", ["(e)ko"], ["eko"]),
    ],
)
def test_the_signs_of_phrases(phrase: str, texts: list[str], others: list[str]) -> None:
    pattern = compiled(expression(phrase).replace("%", "%%"))
    assert all(pattern.search(text) for text in texts)
    assert not any(pattern.search(text) for text in others)


def test_repetitions_in_expressions_are_bounded() -> None:
    """Only the rest of a word may have any length, so no phrase needs more than linear time."""
    for name, kind in KINDS.items():
        if kind.form in ("phrases", "units"):
            for phrase in phrases(name):
                assert "+" not in expression(phrase)
                assert ".*" not in expression(phrase)
