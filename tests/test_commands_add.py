"""``scrapy add``: the queued entries equal those of a crawl."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from newsbot.items import Kind
from newsbot.urls import fingerprint
from tests.commandline import Place

URL = "https://example.org/news/1"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def lease_all(place: Place) -> dict[str, Kind]:
    with place.frontier() as frontier:
        leases = [lease for _ in range(5) for lease in frontier.lease("me", 50, horizon=time.time(), ttl=60)]
    return {lease.entry.url: lease.entry.kind for lease in leases}


def test_added_urls_are_leased(place: Place) -> None:
    answer = place.program("add", URL, "https://other.net/x", "--json")
    assert answer.code == 0
    assert answer.json == [
        {"url": URL, "kind": "article", "verdict": "new"},
        {"url": "https://other.net/x", "kind": "article", "verdict": "new"},
    ]
    assert lease_all(place) == {URL: Kind.ARTICLE, "https://other.net/x": Kind.ARTICLE}
    with place.storage() as storage:
        record = storage.pages.get([fingerprint(URL)])[fingerprint(URL)]
    assert record.source == "example.org"
    assert [event["event"] for event in record.history] == ["discovered"]


def test_the_kind_is_that_of_the_rules_or_of_the_option(place: Place) -> None:
    place.run("add", "https://example.org/rss.xml")
    place.run("add", "https://other.net/feed", "--kind", "feed")
    assert lease_all(place) == {
        "https://example.org/rss.xml": Kind.FEED,
        "https://other.net/feed": Kind.FEED,
    }


def test_known_urls_are_fetched_again(place: Place) -> None:
    place.run("add", URL)
    assert place.run("add", URL, "--json").json[0]["verdict"] in ("known", "sooner")
    with place.frontier() as frontier:
        lease = frontier.lease("me", 1, horizon=time.time(), ttl=60)[0]
        frontier.ack(lease, next_due=None)
    answer = place.run("add", URL)
    assert "known; fetched again now" in answer.out
    assert answer.err.startswith("1 URL queued")
    with place.frontier() as frontier:
        assert frontier.known([fingerprint(URL)])[fingerprint(URL)].state == "pending"


def test_a_pending_url_keeps_its_kind_and_this_is_reported(place: Place) -> None:
    place.run("add", URL)
    answer = place.run("add", URL, "--kind", "feed", "--json")
    assert answer.json == [{"url": URL, "kind": "article", "verdict": "known"}]


def test_the_same_page_is_added_once(place: Place) -> None:
    assert len(place.run("add", URL, URL + "?utm_source=x", "--json").json) == 1


def test_a_file_and_its_wrong_lines(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_text(f"\ufeff# news\n{URL}\n\nnot a url\n  https://example.org/news/2  \nftp://example.org/\n")
    answer = place.run("add", "--file", str(file))
    assert answer.code == 2
    lines = answer.err.splitlines()
    assert lines[0].startswith(f"scrapy add: {file}:4: 'not a url' is not an absolute http(s) URL")
    assert lines[1].startswith(f"scrapy add: {file}:6: 'ftp://example.org/' is not an absolute http(s) URL")
    assert not place.data.exists()
    file.write_text(f"{URL}\nhttps://example.org/news/2\n")
    assert [row["url"] for row in place.run("add", "--file", str(file), "--json").json] == [
        URL,
        "https://example.org/news/2",
    ]


def test_many_problems_are_summed_up(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_text("x\n" * 50)
    lines = place.run("add", "--file", str(file)).err.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "scrapy add: and 30 more"


def test_wrong_usage(place: Place, tmp_path: Path) -> None:
    for words, part in (
        ([], "give at least one URL"),
        (["--file", str(tmp_path / "none.txt")], "none.txt: cannot be read"),
        (["--file", str(tmp_path)], "cannot be read"),
        (["--kind", "fead", URL], "did you mean 'feed'?"),
    ):
        answer = place.run("add", *words)
        assert answer.code == 2
        assert part in answer.err
        assert answer.err.count("\n") == 1


def seconds_to_the_next(place: Place) -> float:
    """Take one URL and acknowledge it; return the seconds until the host's next turn."""
    with place.frontier() as frontier:
        lease = frontier.lease("me", 5, horizon=time.time(), ttl=60)[0]
        taken = time.time()
        frontier.ack(lease, next_due=None)
        next_at = frontier.outlook(horizon=time.time() + 3600).next_at
    assert next_at is not None
    return next_at - taken


def test_a_new_host_gets_the_delay_of_the_rule(place: Place) -> None:
    (place.rules / "example.org.yaml").write_text("domain: example.org\ndelay: 300\n")
    place.run("add", URL, "https://example.org/news/2")
    assert seconds_to_the_next(place) == pytest.approx(300, abs=30)


def test_a_longer_delay_that_a_crawl_has_set_stays(place: Place) -> None:
    place.run("add", URL)
    with place.frontier() as frontier:
        frontier.set_politeness("example.org", delay=300, concurrency=1)
    place.run("add", "https://example.org/news/2")
    assert seconds_to_the_next(place) == pytest.approx(300, abs=30)


def test_a_data_folder_that_cannot_be_made(tmp_path: Path) -> None:
    blocked = Place(tmp_path)
    blocked.data = tmp_path / "file" / "data"
    (tmp_path / "file").write_text("")
    answer = blocked.run("add", URL)
    assert answer.code == 1
    assert "set NEWSBOT_DATA to a writable folder" in answer.err
