"""What the articles of a site have in common outlives a worker and is shared by all, in either storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from newsbot.errors import DataError
from newsbot.extraction.blocks import Block
from newsbot.sites.shared_lines import KEY, NOTE_KIND, SharedLines
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from tests.contracts.storage_backends import Place

DOMAIN = "site.example"
FOOTLINE = "The editors are happy about letters and reserve the right to shorten them."
BACKGROUND = (
    "The bridge was closed in the spring after cracks had been found in two of its pillars, and has been "
    "waiting for repairs since."
)


@pytest.fixture
def workers(place: Place) -> Iterator[list[Notes]]:
    opened: list[Storage] = [place.open() for _ in range(3)]
    yield [storage.notes for storage in opened]
    for storage in opened:
        storage.close()


def lines_of(storage: Notes) -> SharedLines:
    lines = SharedLines()
    lines.storage = storage
    return lines


def learn(lines: SharedLines, number: int, *more: str) -> None:
    lines.of(DOMAIN).learn(f"a{number}", [f"What was told on day {number} alone", *more])


def kept_of(lines: SharedLines, *texts: str) -> list[str]:
    blocks = [Block("paragraph", text) for text in ("A line of its own", *texts)]
    return [block.text for block in lines.of(DOMAIN).own("new", blocks)][1:]


def test_the_next_crawl_knows_them(workers: list[Notes]) -> None:
    first = lines_of(workers[0])
    learn(first, 1, FOOTLINE, BACKGROUND)
    first.write()
    later = lines_of(workers[1])
    assert kept_of(later, FOOTLINE, BACKGROUND) == [BACKGROUND], "two may share a long one, three not"
    learn(later, 2, BACKGROUND)
    later.write()
    assert kept_of(lines_of(workers[2]), FOOTLINE, BACKGROUND) == []


class Away:
    """A storage that does not answer, until it is back."""

    def __init__(self, behind: Notes) -> None:
        self.behind: Notes | None = None
        self._hidden = behind

    def back(self) -> None:
        self.behind = self._hidden

    def __getattr__(self, name: str) -> Any:
        if self.behind is None:
            raise DataError("MongoDB does not answer")
        return getattr(self.behind, name)


def test_a_storage_that_is_away_costs_no_page_and_both_memories_are_joined_when_it_is_back(
    workers: list[Notes],
) -> None:
    before = lines_of(workers[0])
    learn(before, 1, FOOTLINE, BACKGROUND)
    before.write()
    storage = Away(workers[1])
    meanwhile = lines_of(storage)
    learn(meanwhile, 2, FOOTLINE, BACKGROUND)
    storage.back()
    meanwhile.write()
    assert kept_of(lines_of(workers[2]), FOOTLINE, BACKGROUND) == []


def test_workers_at_the_same_time_overwrite_nothing(workers: list[Notes]) -> None:
    crawls = [lines_of(storage) for storage in workers]
    for number, crawl in enumerate(crawls):
        learn(crawl, number, BACKGROUND)
    for crawl in crawls:
        crawl.write()
    assert kept_of(lines_of(workers[0]), BACKGROUND) == []
    assert kept_of(crawls[2], BACKGROUND) == [], "a worker takes over what others wrote when it writes"
    later = lines_of(workers[0])
    for number in range(3):
        assert kept_of(later, f"What was told on day {number} alone") == []


def test_what_has_not_changed_is_not_written(workers: list[Notes]) -> None:
    lines = lines_of(workers[0])
    learn(lines, 1, FOOTLINE)
    lines.write()
    workers[0].forget(NOTE_KIND + DOMAIN, KEY)
    learn(lines, 1, FOOTLINE)
    lines.write()
    assert workers[0].all(NOTE_KIND + DOMAIN) == {}


def test_a_site_with_many_lines_fits_a_note(workers: list[Notes]) -> None:
    lines = lines_of(workers[0])
    learn(lines, 1, FOOTLINE)
    learn(lines, 2, FOOTLINE)
    for number in range(200):
        lines.of(DOMAIN).learn(f"b{number}", [f"Number {number} has line {line}" for line in range(19)])
    lines.write()
    later = lines_of(workers[1])
    assert kept_of(later, FOOTLINE) == [], "what several articles have goes into the note first"
    assert kept_of(later, "Number 199 has line 7") == [], "then what was met last"
    assert 1500 < len(later.of(DOMAIN)) < 3800


@pytest.mark.parametrize("note", [{"format": 9}, {"format": 1, "lines": "?"}, {"format": 1, "lines": "AAAA"}])
def test_a_broken_note_is_told_and_replaced(
    workers: list[Notes], note: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    workers[0].save(NOTE_KIND + DOMAIN, KEY, note)
    lines = lines_of(workers[0])
    learn(lines, 1, FOOTLINE)
    assert "learned anew" in caplog.text
    lines.write()
    assert kept_of(lines_of(workers[1]), FOOTLINE) == []
