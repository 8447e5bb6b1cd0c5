"""The contract of every storage: :mod:`newsbot.storage.base`, the log of polls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from newsbot.storage.base import DAY, KEEP_DAYS, Poll, Sources
from tests.contracts.storage_backends import Place

NOON = 20_000 * DAY + DAY // 2
FIRST = Poll(at=NOON, new=3, shown=20, size=4321, unchanged=False)
FEED = "https://a.org/feed?x=1,2;3"


@pytest.fixture
def log(place: Place) -> Iterator[Sources]:
    storage = place.open()
    yield storage.sources
    storage.close()


def test_polls_are_returned_by_source_and_time_without_duplicates(log: Sources) -> None:
    later = replace(FIRST, at=NOON + 600, new=0, unchanged=True)
    next_day = replace(FIRST, at=NOON + DAY)
    # another poll, although its minute ends with the same digits
    alike = replace(FIRST, at=20_000 * DAY + 200)
    for poll in (next_day, later, FIRST, FIRST, alike, replace(alike, at=20_000 * DAY + 3200)):
        log.log_poll(FEED, poll)
    log.log_poll("https://b.org/", FIRST)
    mine = [alike, replace(alike, at=20_000 * DAY + 3200), FIRST, later, next_day]
    assert list(log.polls(FEED)) == [(FEED, poll) for poll in mine]
    assert list(log.polls())[-1] == ("https://b.org/", FIRST)
    assert len(list(log.polls())) == 6
    assert list(log.polls("https://c.org/")) == []


def test_old_polls_are_removed(log: Sources) -> None:
    log.log_poll(FEED, FIRST)
    log.log_poll("https://b.org/", FIRST)
    log.log_poll(FEED, replace(FIRST, at=NOON + KEEP_DAYS * DAY))
    assert [poll.at for _, poll in log.polls(FEED)] == [NOON + KEEP_DAYS * DAY]
    assert len(list(log.polls("https://b.org/"))) == 1
