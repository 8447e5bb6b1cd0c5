"""``scrapy prune``: old data is removed, but pages stay known."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.commandline import Place, article
from tests.crawls import article_html, feed_xml

YEAR = 365 * 86400.0


@pytest.fixture
def place(tmp_path) -> Place:
    place = Place(tmp_path)
    long_ago = datetime.now(UTC) - timedelta(days=400)
    with place.storage() as storage:
        storage.articles.store(article(1, fetched_at=long_ago))
        storage.articles.store(
            article(1, text="Another text of the harbour. " * 5, fetched_at=datetime.now(UTC))
        )
    return place


def versions(place: Place) -> int:
    with place.storage() as storage:
        return len(storage.articles.versions("https://example.org/news/1"))


def test_by_default_all_data_is_kept_forever(place):
    answer = place.run("prune", "--yes")
    assert answer.code == 0
    assert "all data are kept" in answer.err
    assert versions(place) == 2


def test_settings_and_options_set_the_retention(place):
    shown = place.run("prune", "--json", NEWSBOT_KEEP_VERSIONS="365d")
    assert shown.json == {"versions": {"old": 1, "pruned": False}}
    assert versions(place) == 2
    assert (
        place.run("prune", "--json", "--versions", "500d", NEWSBOT_KEEP_VERSIONS="365d").json["versions"][
            "old"
        ]
        == 0
    )
    done = place.run("prune", "--yes", NEWSBOT_KEEP_VERSIONS="365d")
    assert done.rows == [["versions", "1"]]
    assert versions(place) == 1


@pytest.mark.parametrize(
    ("words", "settings", "says"),
    [
        (("--pages", "1s"), {}, "less than an hour"),
        (("--pages", "x"), {}, "not a duration"),
        ((), {"NEWSBOT_KEEP_PAGES": "soon"}, "NEWSBOT_KEEP_PAGES"),
        (("--raw", "90d"), {}, "NEWSBOT_WARC_DIR"),
    ],
)
def test_an_invalid_age_is_refused(place, words, settings, says):
    answer = place.run("prune", *words, **settings)
    assert answer.code == 2
    assert says in answer.err


def test_only_old_finished_warc_files_are_removed(place, tmp_path):
    folder = tmp_path / "warc"
    folder.mkdir()
    for name in ("old.warc.gz", "new.warc.gz", "old.warc.gz.open", "old.txt"):
        (folder / name).write_bytes(b"x")
        if name.startswith("old"):
            os.utime(folder / name, (time.time() - YEAR, time.time() - YEAR))
    settings = {"NEWSBOT_WARC_DIR": str(folder), "NEWSBOT_KEEP_RAW": "90d"}
    assert place.run("prune", "--json", **settings).json["raw"]["old"] == 1
    assert len(list(folder.iterdir())) == 4
    assert place.run("prune", "--yes", **settings).code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["new.warc.gz", "old.txt", "old.warc.gz.open"]


def test_a_page_whose_details_were_removed_is_not_fetched_as_a_new_page(site, world):
    host = "http://news.test"
    story = f"{host}/story/1"
    site.page(story, article_html(1))
    site.page(f"{host}/feed.xml", feed_xml([story]), headers={"Content-Type": "application/rss+xml"})
    world.rule("news.test", f"domain: news.test\nfeeds: {host}/feed.xml\nrecrawl: {{article: off}}\n")
    assert world.crawl().code == 0
    with world.storage() as storage:
        page = world.page(story)
        page.last_fetched = page.first_seen = time.time() - YEAR
        page.next_due = None
        storage.pages.save([page])
    place = Place.__new__(Place)
    place.data, place.rules = world.data, world.rules
    assert place.run("prune", "--pages", "90d", "--yes", "--json").json["pages"]["old"] >= 1
    assert world.events(story) == []
    again = world.crawl("-a", f"feeds={host}/feed.xml")
    assert again.code == 0, again.err
    assert site.seen("news.test").count("/story/1") == 1
    assert world.urls() == [story]
