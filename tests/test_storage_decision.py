"""What happens to a new article: the decision function of both storages."""

from __future__ import annotations

from typing import Any

import pytest

from newsbot.storage.articles import Decision, Verdict, decide

PAGE = "https://news.test/a"
PRINTED = "https://news.test/print/a"
OTHER = "https://news.test/other"


def record(url: str = PAGE, **fields: Any) -> dict[str, Any]:
    """Return an article in the form that backends use."""
    values = {"canonical_url": PAGE, "url": url, "title": "T", "text": "x", "content_hash": "x", "version": 1}
    return values | {"extraction": {}} | fields


GIVEN = record()
NEWER = record(text="y", content_hash="y")
FROM_PRINTED = record(PRINTED, text="y", content_hash="y")
OWN = record(version=4)
COPY = record(extraction={"fetched": f"{PAGE}?abs=17"})
OWNER = {"canonical_url": OTHER, "version": 7}


@pytest.mark.parametrize(
    ("given", "own", "owner", "led_to", "over", "expected"),
    [
        # the storage has no such URL
        (GIVEN, None, None, None, None, Decision(Verdict.NEW, GIVEN, 1)),
        (FROM_PRINTED, None, None, None, None, Decision(Verdict.NEW, FROM_PRINTED, 1, (PRINTED,))),
        (COPY, None, None, None, None, Decision(Verdict.NEW, COPY, 1, (f"{PAGE}?abs=17",))),
        # the URL belongs to another article: the page itself may store its article, other pages may not
        (GIVEN, None, None, OWNER, None, Decision(Verdict.NEW, GIVEN, 1)),
        (FROM_PRINTED, None, None, OWNER, None, Decision(Verdict.TAKEN, OWNER, 7)),
        # the source has the text under another URL
        (GIVEN, None, OWNER, None, None, Decision(Verdict.SAME_TEXT, OWNER, 7, (PAGE,))),
        (FROM_PRINTED, None, OWNER, None, None, Decision(Verdict.SAME_TEXT, OWNER, 7, (PAGE, PRINTED))),
        (NEWER, OWN, OWNER, None, None, Decision(Verdict.SAME_TEXT, OWNER, 7)),
        # the same text and title
        (GIVEN, OWN, None, None, None, Decision(Verdict.UNCHANGED, OWN, 4)),
        (GIVEN, OWN, OWNER, None, None, Decision(Verdict.UNCHANGED, OWN, 4)),
        (record(PRINTED), OWN, None, None, None, Decision(Verdict.UNCHANGED, OWN, 4, (PRINTED,))),
        (record(content_hash=""), OWN, None, None, None, Decision(Verdict.UNCHANGED, OWN, 4)),
        # a different text or title
        (NEWER, OWN, None, None, None, Decision(Verdict.UPDATED, NEWER, 5)),
        (record(title="U"), OWN, None, None, None, Decision(Verdict.UPDATED, record(title="U"), 5)),
        (record(content_hash="", text="y"), OWN, None, None, None,
         Decision(Verdict.UPDATED, record(content_hash="", text="y"), 5)),
        # a different text from another URL: only if the caller has compared it with the stored one
        (FROM_PRINTED, OWN, None, None, None, Decision(Verdict.TAKEN, OWN, 4)),
        (FROM_PRINTED, OWN, None, None, "z", Decision(Verdict.TAKEN, OWN, 4)),
        (FROM_PRINTED, OWN, None, None, "x", Decision(Verdict.UPDATED, FROM_PRINTED, 5, (PRINTED,))),
        # a URL that cannot be fetched belongs to any page
        (record("news", text="y", content_hash="y"), OWN, None, None, None,
         Decision(Verdict.UPDATED, record("news", text="y", content_hash="y"), 5)),
    ],
)  # fmt: skip
def test_decisions(
    *, given: Any, own: Any, owner: Any, led_to: Any, over: str | None, expected: Decision
) -> None:
    assert decide(given, own, owner, led_to, over) == expected


def test_the_result_names_the_relevant_article() -> None:
    stored = decide(GIVEN, None, OWNER, None).stored
    assert (stored.verdict, stored.canonical_url, stored.version) == (Verdict.SAME_TEXT, OTHER, 7)
