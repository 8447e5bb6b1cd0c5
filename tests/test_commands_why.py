"""``scrapy why`` on real data: fetched, dropped, waiting and unknown URLs."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from newsbot.apps.operations.explain import reason_text
from newsbot.apps.operations.remove import keep_out
from newsbot.backends import open_frontier, open_storage
from newsbot.frontier.base import Entry
from newsbot.items import Kind, PageRecord
from newsbot.storage.base import SourceRecord
from newsbot.urls import fingerprint
from tests.commandline import Place, article

NOW = time.time()
ARTICLE = "https://example.org/news/1"
COPY = "https://example.org/news/2"
DROPPED = "https://example.org/news/3"
FEED = "https://example.org/rss.xml"
GONE = "https://example.org/news/6"
WAITING = "https://example.org/news/4"


def page(url: str, **changes: object) -> PageRecord:
    values = {
        "url": url,
        "fingerprint": fingerprint(url),
        "host": "example.org",
        "source": "example.org",
        "kind": Kind.ARTICLE,
        "first_seen": NOW - 7200,
    }
    return PageRecord(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("why"))
    history = [
        {"at": NOW - 7200, "event": "discovered", "where": "feed", "referrer": "https://example.org/rss.xml"},
        {"at": NOW - 7100, "event": "fetched", "status": 200, "bytes": 12345},
        {"at": NOW - 7100, "event": "stored", "version": 1},
        {"at": NOW - 7100, "event": "planned", "next_due": NOW + 86400, "why": "interval"},
    ]
    with place.storage() as storage:
        storage.articles.store(article(1))
        storage.articles.store(article(2, text=article(1).text))  # the same text: only the URL is stored
        storage.articles.store(
            article(5, title="A near copy", text="Almost the same, at another address. " * 4)
        )
        storage.stories.assign(ARTICLE, "s1", None)
        storage.stories.assign("https://example.org/news/5", "s1", ARTICLE)
        storage.pages.discover(
            [
                page(ARTICLE, referrers=["https://example.org/rss.xml"], referrer_count=1),
                page(DROPPED),
                page(WAITING),
                page(GONE),
            ]
        )
        storage.pages.save(
            [
                page(
                    ARTICLE,
                    state="done",
                    http_status=200,
                    etag='"abc"',
                    checks=2,
                    changes=1,
                    last_fetched=NOW - 7100,
                    next_due=NOW + 86400,
                    history=history,
                ),
                page(
                    DROPPED,
                    state="done",
                    http_status=200,
                    checks=1,
                    last_fetched=NOW,
                    history=[{"at": NOW, "event": "not_an_article", "reason": "section_front"}],
                ),
                page(GONE, state="gone", http_status=404, checks=1, last_fetched=NOW),
            ]
        )
    with place.frontier() as frontier:
        frontier.add(
            [
                Entry(
                    url=WAITING,
                    fingerprint=fingerprint(WAITING),
                    host="example.org",
                    kind=Kind.ARTICLE,
                    priority=42.0,
                    depth=2,
                    data={"source": "example.org", "why": "fresh in a feed"},
                )
            ]
        )
    return place


def test_the_whole_story_of_a_stored_article(place: Place) -> None:
    answer = place.program("why", f"{ARTICLE}?utm_source=x&ref=y")
    assert answer.code == 0
    lines = answer.out.splitlines()
    for part in (
        f"canonical     {ARTICLE}",
        "site          example.org (rule: ",
        "rule says     article, by ^/news/\\d+ (",
        "page          article, done, HTTP 200",
        'etag          "abc"',
        "linked from   https://example.org/rss.xml",
        "article       Title 1 (version 1 of 1)",
        "same story    https://example.org/news/5",
    ):
        assert any(line.startswith(part) for line in lines), part
    assert "example.org.yaml:7)" in answer.out
    assert "2 h ago" in answer.out
    events = lines[lines.index("") + 1 : -2]
    assert [line.split()[2] for line in events] == ["discovered", "fetched", "stored", "planned"]
    assert lines[-1].endswith(f"scrapy articles show '{ARTICLE}'")
    assert "status=200 bytes=12345" in events[1]
    assert "next_due=20" in events[3]


def test_the_story_as_json(place: Place) -> None:
    story = place.run("why", ARTICLE, "--json").json
    assert story["fingerprint"] == fingerprint(ARTICLE).hex()
    assert story["page"]["http_status"] == 200
    assert [event["event"] for event in story["page"]["history"]][-1] == "planned"
    assert story["article"]["title"] == "Title 1"
    assert story["versions"] == 1
    assert [member["title"] for member in story["story"]] == ["A near copy"]
    assert story["match"]["kind"] == "article"


def test_a_copy_names_the_original(place: Place) -> None:
    assert f"same text as {ARTICLE}" in place.run("why", COPY).out
    assert place.run("why", COPY, "--json").json["same_text_as"] == ARTICLE


def test_the_address_that_was_fetched_leads_to_the_article(place: Place) -> None:
    address = "https://example.org/amp/7?ref=rss"
    with place.storage() as storage:
        storage.articles.store(article(7, url=address))
    assert "same text as https://example.org/news/7" in place.run("why", address).out
    assert "Title 7" in place.run("articles", "show", address).out


def test_reasons_why_no_article_was_stored(place: Place) -> None:
    assert "none stored: not an article (section_front)" in place.run("why", DROPPED).out
    assert "none stored: HTTP 404" in place.run("why", GONE).out


def test_a_url_that_waits_in_the_queue(place: Place) -> None:
    text = place.run("why", WAITING).out
    assert "queue         waits to be fetched" in text
    assert "next due      now" in text
    assert "article, 2 links away from a source of the site" in text
    assert "fresh in a feed" in text
    assert place.run("why", WAITING, "--json").json["queue"]["state"] == "pending"


def test_an_unknown_url_is_judged(place: Place) -> None:
    text = place.run("why", "https://example.org/news/99").out
    assert "queue         never queued" in text
    assert "page          not fetched; no page or source that newsbot has read contains it" in text
    denied = place.run("why", "https://example.org/login", "--json").json
    assert denied["match"]["denied"] is True
    assert denied["judgement"]["accepted"] is False
    assert "example.org.yaml:" in place.run("why", "https://example.org/login").out
    assert "rule: none" in place.run("why", "https://nowhere.test/x").out


def test_before_the_first_crawl_a_url_is_judged_by_the_rules(tmp_path: Path) -> None:
    empty = Place(tmp_path)
    answer = empty.run("why", ARTICLE)
    assert answer.code == 0
    assert "rule says     article" in answer.out
    assert "no crawl has run yet" in answer.err
    assert not empty.data.exists()


@pytest.mark.parametrize("url", ["news/1", "ftp://example.org/", "https://", "mailto:a@example.org"])
def test_an_invalid_url(place: Place, url: str) -> None:
    answer = place.run("why", url)
    assert answer.code == 2
    assert answer.err.startswith(f"scrapy why: '{url}' is not an absolute")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("backend", ["file", "servers"])
def test_all_known_facts_are_printed_with_any_backend(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = Place(tmp_path)
    settings: dict[str, str] = {}
    if backend == "servers":
        mongo, redis = request.getfixturevalue("mongo_uri"), request.getfixturevalue("redis_server")
        uri = (
            mongo.replace("/?", "/newsbot_test_why?")
            if "/?" in mongo
            else f"{mongo.rstrip('/')}/newsbot_test_why"
        )
        settings = {"MONGO_URI": uri, "REDIS_URL": redis.url}
    with closing(open_storage({**place.environment, **settings})) as storage:
        storage.articles.store(article(1, rights={"noai": "meta"}, relation="new", derived_from=[COPY]))
        history = [
            {
                "at": NOW - 60,
                "event": "discovered",
                "where": "feed",
                "referrer": "https://example.org/rss.xml",
            },
            {"at": NOW - 30, "event": "no_page", "cause": "robots", "text": "forbidden by robots.txt"},
        ]
        storage.pages.save([page(ARTICLE, history=history, referrers=["https://example.org/"])])
        storage.pages.save([page(DROPPED, history=[{"at": NOW, "event": "fetched", "status": 200}])])
        keep_out(storage.notes, urls=[ARTICLE], domain=None, at=NOW, reason="letter of 5 May")
    with closing(open_frontier({**place.environment, **settings})) as frontier:
        frontier.set_politeness("example.org", delay=7.5, concurrency=1)
        frontier.back_off("example.org", 900)
    output = place.run("why", ARTICLE, **settings).out
    for part in (
        "found in      feed of https://example.org/rss.xml",
        f"kept out      {ARTICLE} was removed on",
        "letter of 5 May",
        "scrapy remove --allow",
        "example.org: 7.5 s between requests, 1 at once",
        "host pauses   until",
        "robots.txt    forbade it on",
        "linked from   https://example.org/",
        "reserved      noai (meta)",
        "relation      the first text of its story",
        f"derived from  {COPY}",
    ):
        assert part in output, part
    document = place.run("why", ARTICLE, "--json", **settings).json
    assert document["removed"]["reason"] == "letter of 5 May"
    assert document["host_pace"]["delay"] == 7.5
    assert document["article"]["rights"] == {"noai": "meta"}
    other = place.run("why", DROPPED, "--json", **settings).json
    assert other["removed"] is None
    assert other["robots"].startswith("allowed it on")


def test_lists_are_shown_as_such(place: Place) -> None:
    output = place.run("why", "https://example.org/2026/11/20/").out
    assert "is fetched as section: it looks like a list of articles" in output
    assert "only while they lead to new articles" in output
    assert "no page or source that newsbot has read contains it" in output


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("claimed", "named as canonical by a fetched page"),
        ("named as canonical by a fetched page", "named as canonical by a fetched page"),
        ("rule:/news/:id", "rule:/news/:id"),
        ("again in 6h", "again in 6h"),
    ],
)
def test_reasons_stored_by_any_version_are_printed_as_sentences(stored: str, text: str) -> None:
    assert reason_text(stored) == text


def test_a_home_page_read_by_http_and_links_that_are_not_followed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    home = "http://example.org/"
    with place.storage() as storage:
        storage.pages.discover([page(home, kind=Kind.SECTION)])
        storage.pages.save([page(home, kind=Kind.SECTION, state="done", http_status=200, last_fetched=NOW)])
        storage.sources.save([SourceRecord(url=FEED, source="example.org", kind=Kind.FEED, polls=1)])
    output = place.run("why", "https://example.org/").out
    assert "requested as  http://example.org/\n" in output
    assert (
        "links on article pages are not followed: the site has a feed or sitemap"
        in place.run("why", ARTICLE).out
    )
    (place.rules / "example.org.yaml").write_text("domain: example.org\nfollow: sitemaps\narticle: ^/news/\n")
    assert "only if it is in: sitemaps (rule key: follow)" in place.run("why", ARTICLE).out


def test_a_failed_attempt_is_not_a_reason_after_a_later_download(tmp_path: Path) -> None:
    place, home = Place(tmp_path), "https://example.org/"
    failed = {"at": NOW - 60, "event": "no_page", "cause": "robots_unreachable"}
    read = {"at": NOW - 50, "event": "fetched", "status": 200}
    refused = {"at": NOW - 50, "event": "not_an_article", "reason": "front_page"}
    for history, line in (
        ([failed], "none stored: no page (robots_unreachable)"),
        ([failed, read], "none stored"),
        ([read, refused, read], "none stored: not an article (front_page)"),
    ):
        with place.storage() as storage:
            storage.pages.save([page(home, history=history)])
        assert f"article       {line}" in place.run("why", home).out.splitlines()


def test_why_explains_a_queued_link_that_was_not_followed_and_what_helps(place: Place) -> None:
    url = "https://example.org/gallery/ten-best-1"
    left = [{"at": NOW, "event": "left", "reason": "waits"}]
    with place.storage() as storage:
        storage.pages.save([page(url, state="done", history=left)])
    output = place.run("why", url).out
    assert "not fetched   links of this form wait" in output
    assert output.rstrip().endswith(f"scrapy add '{url}'")
