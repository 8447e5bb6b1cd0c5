"""The contract of every storage: :mod:`newsbot.storage.base`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from newsbot.storage.base import Storage, WaitingLink
from newsbot.urls import fingerprint
from tests.contracts.storage_backends import Place

SITE = "https://news.example"


@pytest.fixture
def storage(place: Place) -> Iterator[Storage]:
    opened = place.open()
    yield opened
    opened.close()


def link(
    number: int, family: str = "/p/*", *, at: float | None = None, source: str = "news.example"
) -> WaitingLink:
    url = f"{SITE}{family}{number}"
    return WaitingLink(
        fingerprint=fingerprint(url),
        source=source,
        family=family,
        at=float(number) if at is None else at,
        priority=float(number % 7),
        body=f'{{"url":"{url}","text":"ёжик"}}',
    )


def test_links_are_kept_once_and_counted_by_family(storage: Storage, place: Place) -> None:
    links = [link(1), link(2), link(3, "/q/*")]
    storage.waiting.save(links, 10)
    storage.waiting.save(links, 10)
    other = place.open()
    assert other.waiting.counts("news.example") == {"/p/*": 2, "/q/*": 1}
    assert other.waiting.counts("other.example") == {}
    assert other.waiting.get([link(2).fingerprint, link(9).fingerprint]) == {link(2).fingerprint: link(2)}
    other.close()


def test_the_best_links_of_a_family_come_first(storage: Storage) -> None:
    storage.waiting.save([link(number) for number in range(10)], 100)
    found = storage.waiting.of_family("news.example", "/p/*", 3)
    assert [one.priority for one in found] == [6.0, 5.0, 4.0]
    assert storage.waiting.of_family("news.example", "/q/*", 3) == []


def test_the_oldest_links_of_a_family_are_dropped_first(storage: Storage) -> None:
    storage.waiting.save([link(number) for number in range(8)], 5)
    storage.waiting.save([link(100), link(1, "/q/*")], 5)
    left = {one.at for one in storage.waiting.of_family("news.example", "/p/*", 50)}
    assert left == {4.0, 5.0, 6.0, 7.0, 100.0}
    assert storage.waiting.counts("news.example")["/q/*"] == 1


def test_links_and_sites_can_be_forgotten(storage: Storage) -> None:
    storage.waiting.save([link(1), link(2), link(5, "/r/*", source="other.example")], 5)
    assert storage.waiting.forget([link(1).fingerprint]) == 1
    assert storage.waiting.forget([link(1).fingerprint]) == 0
    assert storage.waiting.forget_site("news.example") == 1
    assert storage.waiting.counts("other.example") == {"/r/*": 1}
