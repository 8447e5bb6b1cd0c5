"""In each storage, the repeated lines of a site are shared with the next crawl and with all workers."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newsbot.errors import DataError
from newsbot.pages.extraction.comparison import LEAST, RECENT
from newsbot.sites.texts import KEY, NOTE_KIND, SharedLines
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from tests.contracts.storage_backends import Place

DOMAIN = "site.example"
FOOTLINE = "The editors are happy about letters and reserve the right to shorten them."


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


def learn(lines: SharedLines, *numbers: int) -> None:
    for number in numbers:
        lines.of(DOMAIN).learn(f"a{number}", [f"What was told on day {number} alone", FOOTLINE])


def removes(lines: SharedLines, line: str = FOOTLINE) -> bool:
    return bool(lines.of(DOMAIN).site_lines("new", ["A line of its own", line]))


def test_the_next_crawl_knows_repeated_lines(workers: list[Notes]) -> None:
    first = lines_of(workers[0])
    learn(first, *range(LEAST - 1))
    first.write()
    later = lines_of(workers[1])
    assert not removes(later)
    learn(later, LEAST)
    later.write()
    assert removes(lines_of(workers[2]))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_articles_that_share_a_fifth_of_their_paragraphs_keep_them_in_every_order_of_fetching(
    workers: list[Notes], seed: int
) -> None:
    chance, domain = Random(seed), f"site{seed}.example"
    shared = [f"Background {number} of the story that runs since spring." for number in range(6)]
    articles = {}
    for number in range(RECENT + 5):
        lines = [f"Paragraph {line} of article {number} alone" for line in range(16)]
        lines += chance.sample(shared, 4)
        chance.shuffle(lines)
        articles[f"a{number}"] = [*lines, FOOTLINE]
    crawls = [lines_of(storage) for storage in workers]
    order = chance.sample(sorted(articles), len(articles))
    for read, address in enumerate([*order, *order]):
        crawl, lines = chance.choice(crawls), articles[address]
        removed = crawl.of(domain).site_lines(address, lines)
        assert removed in ([], [20]), "only the last line of each article may be removed"
        crawl.of(domain).learn(address, lines)
        if read % 3 == 0:
            crawl.write()
    for crawl in crawls:
        crawl.write()
    assert lines_of(workers[0]).of(domain).site_lines("new", ["A line of its own", FOOTLINE]) == [1]


class Away:
    """A storage that is unavailable until :meth:`back` is called."""

    def __init__(self, behind: Notes) -> None:
        self.behind: Notes | None = None
        self._hidden = behind

    def back(self) -> None:
        self.behind = self._hidden

    def __getattr__(self, name: str) -> Any:
        if self.behind is None:
            raise DataError("MongoDB does not answer")
        return getattr(self.behind, name)


def test_an_unavailable_storage_loses_no_line_and_counts_are_merged_after_recovery(
    workers: list[Notes],
) -> None:
    before = lines_of(workers[0])
    learn(before, *range(LEAST // 2))
    before.write()
    storage = Away(workers[1])
    meanwhile = lines_of(storage)
    learn(meanwhile, *range(LEAST // 2, LEAST))
    assert not removes(meanwhile)
    storage.back()
    meanwhile.write()
    assert removes(meanwhile)
    assert removes(lines_of(workers[2]))


def test_concurrent_workers_do_not_overwrite_each_others_lines(workers: list[Notes]) -> None:
    crawls = [lines_of(storage) for storage in workers]
    for number in range(LEAST):
        learn(crawls[number % 3], number)
    for crawl in crawls:
        crawl.write()
    assert removes(lines_of(workers[0]))
    assert removes(crawls[2]), "a worker reads the others' lines when it writes"
    assert not removes(crawls[2], "What was told on day 1 alone")


def test_the_latest_articles_of_all_workers_are_kept(workers: list[Notes]) -> None:
    old, new = lines_of(workers[0]), lines_of(workers[1])
    learn(old, *range(RECENT))
    old.write()
    new.of(DOMAIN)
    for number in range(RECENT):
        new.of(DOMAIN).learn(f"b{number}", [f"What was told in week {number} alone"])
    new.write()
    learn(old, RECENT)
    old.write()
    later = lines_of(workers[2])
    assert len(later.of(DOMAIN)) == RECENT
    assert not removes(later)
    assert not removes(old)


def test_unchanged_lines_are_not_written(workers: list[Notes]) -> None:
    lines = lines_of(workers[0])
    learn(lines, 1)
    lines.write()
    workers[0].forget(NOTE_KIND + DOMAIN, KEY)
    learn(lines, 1)
    lines.write()
    assert workers[0].all(NOTE_KIND + DOMAIN) == {}


@pytest.mark.parametrize(
    "note",
    [
        {"format": 9},
        {"format": 2, "articles": "?"},
        {"format": 2, "articles": [[]]},
        {"format": 2, "articles": [[1, "x"]]},
        {"format": 2, "articles": [["a", [1]]]},
    ],
)
def test_a_damaged_note_is_reported_and_replaced(
    workers: list[Notes], note: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    workers[0].save(NOTE_KIND + DOMAIN, KEY, note)
    lines = lines_of(workers[0])
    learn(lines, *range(LEAST))
    assert "they are learned again" in caplog.text
    lines.write()
    assert removes(lines_of(workers[1]))
