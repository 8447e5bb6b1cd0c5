"""Differences between versions of an article."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from newsbot.items import Article
from newsbot.pages.text.differences import MAX_LINES, changes, version_lines, version_rows, word_changes

FIRST = Article(
    url="https://a.org/1",
    canonical_url="https://a.org/1",
    source="a.org",
    title="Bridge closed",
    text="One.\nTwo.\nThree.",
    authors=["A. Writer"],
    fetched_at=datetime(2026, 5, 1, 12, tzinfo=UTC),
)
SECOND = replace(FIRST, title="Bridge open", text="One.\n2.\nThree.\nFour.", authors=[], version=2)


def test_different_fields_and_lines_are_returned() -> None:
    assert changes(FIRST, SECOND) == {
        "title": ["Bridge closed", "Bridge open"],
        "authors": [["A. Writer"], []],
        "text": {"removed": ["Two."], "added": ["2.", "Four."]},
    }
    assert changes(FIRST, replace(FIRST, version=2, fetched_at=None)) == {}


def test_json_output_contains_the_changes_of_each_version() -> None:
    rows = version_rows([FIRST, SECOND])
    assert rows[0]["changes"] == {}
    assert rows[1]["changes"] == changes(FIRST, SECOND)
    assert rows[1]["title"] == "Bridge open"


def test_readable_output_contains_the_first_version_and_then_the_changes() -> None:
    third = replace(SECOND, version=3)
    shown = "\n".join(version_lines([FIRST, SECOND, third])).split("---")
    assert "version 1, fetched 2026-05-01T12:00:00Z: Bridge closed\n\nOne.\nTwo.\nThree." in shown[1]
    assert "  title: Bridge closed -> Bridge open\n" in shown[2]
    assert "  authors: A. Writer -> -\n" in shown[2]
    assert "  - Two.\n  + 2.\n  + Four." in shown[2]
    assert "no change in the stored fields" in shown[3]


def test_a_word_at_the_end_of_a_line_is_the_same_word() -> None:
    marked = word_changes(["He gave 2 reasons for it."], ["He gave 3 reasons for it.", "More came."])
    assert marked == [
        ("kept", "He gave "),
        ("removed", "2 "),
        ("added", "3 "),
        ("kept", "reasons for it.\n"),
        ("added", "More came."),
    ]


def test_very_long_texts_are_not_compared_line_by_line() -> None:
    long = replace(FIRST, text="x\n" * (MAX_LINES + 1))
    assert changes(FIRST, long)["text"]["added"] == [f"({2 * MAX_LINES + 2} characters)"]
