"""Counters of each site, summed over all crawls."""

from __future__ import annotations

from contextlib import closing

import pytest

from newsbot.errors import DataUnavailable
from newsbot.sites.statistics import SiteCounters
from newsbot.storage.sqlite import SqliteStorage

NOW = 1_795_000_000.0


@pytest.fixture
def storage(tmp_path):
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as opened:
        yield opened


def stats(**counters):
    return {f"newsbot/site/a.test/{name}": value for name, value in counters.items()}


def test_only_the_increase_since_the_last_write_is_added(storage):
    books = SiteCounters()
    books.write(storage, stats(pages=3, errors=1), NOW)
    books.write(storage, stats(pages=3, errors=1), NOW)
    books.write(storage, stats(pages=5, errors=1), NOW)
    assert storage.sites.all()["a.test"].counters == {"pages": 5, "errors": 1}


def test_a_further_crawl_adds_to_the_counters(storage):
    for pages in (3, 4):
        SiteCounters().write(storage, stats(pages=pages), NOW)
    assert storage.sites.all()["a.test"].counters == {"pages": 7}


def test_last_times_are_kept(storage):
    books = SiteCounters()
    books.last_article["a.test"] = 100.0
    books.last_error["a.test"] = ("timeout", 90.0)
    books.write(storage, stats(articles=1), NOW)
    books.write(storage, stats(articles=2), NOW)
    site = storage.sites.all()["a.test"]
    assert (site.last_article, site.last_error, site.last_error_at) == (100.0, "timeout", 90.0)


def test_counters_are_correct_after_an_error(storage, monkeypatch):
    books = SiteCounters()
    books.last_article["a.test"] = 100.0
    books.last_error["a.test"] = ("timeout", 90.0)

    def locked(record):
        raise DataUnavailable("locked")

    with monkeypatch.context() as patch:
        patch.setattr(storage.sites, "add", locked)
        with pytest.raises(DataUnavailable):
            books.write(storage, stats(articles=1), NOW)
    books.write(storage, stats(articles=1), NOW)
    site = storage.sites.all()["a.test"]
    assert site.counters == {"articles": 1}
    assert (site.last_article, site.last_error, site.last_error_at) == (100.0, "timeout", 90.0)


def test_increases_are_stored_per_hour(storage, monkeypatch):
    books = SiteCounters()
    books.write(storage, stats(pages=3, articles=2), NOW)
    books.write(storage, stats(pages=4, articles=2), NOW + 3600)

    def locked(at, sites):
        raise DataUnavailable("locked")

    with monkeypatch.context() as patch:
        patch.setattr(storage.activity, "add", locked)
        with pytest.raises(DataUnavailable):
            books.write(storage, stats(pages=9, articles=2), NOW + 3700)
    books.write(storage, stats(pages=9, articles=2), NOW + 3700)
    assert [dict(hour.counts) for hour in storage.activity.hours(NOW)] == [
        {"pages": 3, "articles": 2},
        {"pages": 6},
    ]
    assert storage.sites.all()["a.test"].counters == {"pages": 9, "articles": 2}
