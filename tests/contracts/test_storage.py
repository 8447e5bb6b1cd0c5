"""What every storage keeps to: :mod:`newsbot.storage.base`, sentence by sentence."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Barrier

import pytest

from newsbot.items import Article, Kind, PageRecord
from newsbot.storage.base import (
    MAX_HISTORY,
    MAX_REFERRERS,
    MAX_VERSIONS,
    ArticleFilter,
    SiteRecord,
    SourceRecord,
    Storage,
    Stored,
    Verdict,
)
from tests import warm
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import NOON, make_article, make_page


@pytest.fixture
def storage(place: Place) -> Iterator[Storage]:
    opened = place.open()
    yield opened
    opened.close()


# --- articles: verdicts


def test_an_article_comes_back_whole(storage: Storage) -> None:
    article = make_article(
        "a",
        summary="Кратко",
        authors=["А. Б.", "C"],
        published_source="json-ld",
        published_precision="minute",
        modified_at=NOON,
        section="World",
        tags=["x", "ё"],
        image="https://example.org/a.jpg",
        discovered_at=NOON - timedelta(minutes=1),
        story="s",
        duplicate_of="https://example.org/0",
        extraction={"title": "rule"},
    )
    assert storage.store(article) == Stored(Verdict.NEW, article.canonical_url, 1)
    assert storage.article(article.canonical_url) == article
    assert storage.article("https://example.org/unknown") is None


def test_storing_twice_is_storing_once(storage: Storage) -> None:
    article = make_article("a")
    storage.store(article)
    again = make_article("a", hours=3)
    assert storage.store(again) == Stored(Verdict.UNCHANGED, article.canonical_url, 1)
    assert list(storage.iter_articles()) == [article]
    assert storage.versions(article.canonical_url) == [article]


def test_a_title_or_text_that_changed_makes_a_version(storage: Storage) -> None:
    first = make_article("a", "One text.", discovered_at=NOON)
    storage.store(first)
    storage.assign_story(first.canonical_url, "story", "https://example.org/other")
    second = make_article("a", "Two text.", hours=1, discovered_at=NOON + timedelta(hours=1))
    assert storage.store(second) == Stored(Verdict.UPDATED, first.canonical_url, 2)
    third = make_article("a", "Two text.", title="Other", hours=2)
    assert storage.store(third).version == 3

    kept = storage.versions(first.canonical_url)
    assert [(version.version, version.title, version.text) for version in kept] == [
        (1, "Title of a", "One text."),
        (2, "Title of a", "Two text."),
        (3, "Other", "Two text."),
    ]
    present = storage.article(first.canonical_url)
    assert present is not None
    assert (present.story, present.duplicate_of) == ("story", "https://example.org/other")
    assert present.discovered_at == NOON
    assert storage.count_articles() == 1


def test_the_first_version_and_the_latest_are_kept(storage: Storage) -> None:
    for number in range(MAX_VERSIONS + 5):
        storage.store(make_article("a", title=f"Title {number}"))
    kept = [version.version for version in storage.versions("https://example.org/a")]
    assert kept[0] == 1
    assert kept[-1] == MAX_VERSIONS + 5
    assert len(kept) <= MAX_VERSIONS + 1
    assert kept[1:] == list(range(kept[1], MAX_VERSIONS + 6))


def test_the_same_text_under_another_url_is_recorded_not_stored(storage: Storage) -> None:
    first = make_article("a", "Same text.")
    storage.store(first)
    for _ in range(2):
        copy = make_article("b", "same TEXT")
        assert storage.store(copy) == Stored(Verdict.SAME_TEXT, first.canonical_url, 1)
    assert storage.article("https://example.org/b") == first
    assert storage.count_articles() == 1
    assert storage.text_owner("example.org", first.content_hash) == first.canonical_url
    assert storage.text_owner("other.org", first.content_hash) is None


def test_an_article_is_found_under_the_address_that_was_fetched(storage: Storage) -> None:
    fetched = "https://example.org/amp/1"
    article = make_article("story/1", url=f"{fetched}?utm_source=x")
    storage.store(article)
    found = storage.article(fetched)
    assert found is not None
    assert found.canonical_url == "https://example.org/story/1"

    again = "https://example.org/m/1"
    assert storage.store(make_article("story/1", url=again)).verdict is Verdict.UNCHANGED
    assert storage.article(again) == found
    changed = make_article("story/1", "Другой текст.", url="https://example.org/print/1")
    assert storage.store(changed, over=found.content_hash).verdict is Verdict.UPDATED
    copy = make_article("copy", "Другой текст.", url="https://example.org/amp/copy")
    assert storage.store(copy).verdict is Verdict.SAME_TEXT
    for address in ("amp/1", "m/1", "print/1", "copy", "amp/copy"):
        led_to = storage.article(f"https://example.org/{address}")
        assert led_to is not None, address
        assert (led_to.canonical_url, led_to.version) == ("https://example.org/story/1", 2)

    storage.store(make_article("amp/1", "Сама по себе статья.", url=fetched))
    own = storage.article(fetched)
    assert own is not None
    assert own.canonical_url == fetched
    storage.store(make_article("story/1", "Третий текст.", url=fetched), over=changed.content_hash)
    assert storage.article(fetched) == own


def test_another_source_may_carry_the_same_text(storage: Storage) -> None:
    storage.store(make_article("a", "Agency text."))
    assert storage.store(make_article("a", "Agency text.", source="other.org")).verdict is Verdict.NEW
    assert storage.count_articles() == 2


def test_a_url_that_led_to_a_known_text_may_become_an_article(storage: Storage) -> None:
    storage.store(make_article("a", "Please accept cookies."))
    storage.store(make_article("b", "Please accept cookies."))
    real = make_article("b", "The real text.")
    assert storage.store(real).verdict is Verdict.NEW
    assert storage.article("https://example.org/b") == real


def test_an_article_that_takes_the_text_of_another_stays_as_it_was(storage: Storage) -> None:
    first, second = make_article("a", "One."), make_article("b", "Two.")
    storage.store(first)
    storage.store(second)
    assert storage.store(make_article("b", "One.")) == Stored(Verdict.SAME_TEXT, first.canonical_url, 1)
    assert storage.article("https://example.org/b") == second
    assert len(storage.versions("https://example.org/b")) == 1


def test_a_text_of_the_past_is_not_stored_again(storage: Storage) -> None:
    storage.store(make_article("a", "Old text."))
    storage.store(make_article("a", "New text."))
    assert storage.store(make_article("b", "Old text.")).verdict is Verdict.SAME_TEXT
    back = storage.store(make_article("a", "Old text."))
    assert (back.verdict, back.version) == (Verdict.UPDATED, 3)


def test_articles_without_a_key_are_compared_letter_by_letter(storage: Storage) -> None:
    storage.store(make_article("a", "Text", content_hash=""))
    assert storage.store(make_article("b", "Text", content_hash="")).verdict is Verdict.NEW
    assert storage.store(make_article("a", "Text", content_hash="")).verdict is Verdict.UNCHANGED
    assert storage.store(make_article("a", "TEXT", content_hash="")).verdict is Verdict.UPDATED


def test_what_sites_write_is_kept_or_made_harmless(storage: Storage) -> None:
    odd = make_article(
        "odd",
        "zero \x00 byte, half a sign \ud83d, emoji 🙂 " + "long " * 200_000,
        title="\udc00 title",
        authors=["\ud800"],
        published_at=datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
        modified_at=datetime(1, 1, 1, tzinfo=UTC),
        fetched_at=None,
    )
    storage.store(odd)
    kept = storage.article(odd.canonical_url)
    assert kept is not None
    assert kept.title == "? title"
    assert kept.text.startswith("zero \x00 byte, half a sign ?, emoji 🙂 long")
    assert kept.authors == ["?"]
    assert (kept.published_at, kept.modified_at) == (odd.published_at, odd.modified_at)
    assert kept.fetched_at is None


# --- articles: races


def _store_at_once(place: Place, barrier: Barrier, name: str, answers: multiprocessing.Queue[str]) -> None:
    storage = place.open()
    try:
        for turn in range(25):
            article = make_article(f"{turn}/{name}", f"The same text {turn}.")
            barrier.wait(60)
            answers.put(f"{turn} {storage.store(article).verdict}")
    finally:
        storage.close()


def test_processes_that_meet_one_text_store_it_once(place: Place) -> None:
    place.open().close()
    context = warm.context()
    barrier, answers = context.Barrier(3), context.Queue()
    workers = [
        context.Process(target=_store_at_once, args=(place, barrier, name, answers))
        for name in ("a", "b", "c")
    ]
    for worker in workers:
        worker.start()
    got = Counter(answers.get(timeout=120) for _ in range(3 * 25))
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert got == Counter({f"{turn} new": 1 for turn in range(25)}) + Counter(
        {f"{turn} same_text": 2 for turn in range(25)}
    )
    storage = place.open()
    assert storage.count_articles() == 25
    storage.close()


def test_two_workers_see_what_the_other_wrote(place: Place) -> None:
    one, other = place.open(), place.open()
    one.store(make_article("a"))
    assert other.article("https://example.org/a") == make_article("a")
    assert other.store(make_article("a")).verdict is Verdict.UNCHANGED
    one.close()
    other.close()


# --- articles: streams, filters


def test_filters_hold_together(storage: Storage) -> None:
    storage.store(make_article("a", "A", hours=0))
    storage.store(make_article("b", "B", hours=1, language="en", story="s"))
    storage.store(make_article("c", "C", hours=2, source="other.org", language="en"))
    storage.store(make_article("d", "D", hours=3, published_at=None))

    def paths(**asked: object) -> list[str]:
        where = ArticleFilter(**asked)  # type: ignore[arg-type]
        found = [article.canonical_url.rsplit("/", 1)[1] for article in storage.iter_articles(where)]
        assert storage.count_articles(where) == len(found)
        return found

    assert paths() == ["a", "b", "c", "d"]
    assert paths(source="example.org") == ["a", "b", "d"]
    assert paths(language="en") == ["b", "c"]
    assert paths(language="en", source="other.org") == ["c"]
    assert paths(story="s") == ["b"]
    assert paths(since=NOON + timedelta(hours=1)) == ["b", "c", "d"]
    assert paths(since=NOON + timedelta(hours=1), until=NOON + timedelta(hours=2)) == ["b"]
    assert paths(since=NOON + timedelta(hours=3)) == ["d"]  # published unknown: fetched counts


def test_a_stream_of_articles_survives_writing(storage: Storage) -> None:
    for number in range(250):
        storage.store(make_article(str(number), f"Text {number}", hours=number))
    seen: list[Article] = []
    for article in storage.iter_articles():
        seen.append(article)
        if len(seen) % 50 == 0:
            storage.store(make_article(f"new{len(seen)}", f"New {len(seen)}", hours=1000))
            storage.store(make_article("0", f"Changed {len(seen)}", hours=2000))
    urls = [article.canonical_url for article in seen]
    assert len(urls) == len(set(urls)) == 250
    assert urls[:3] == [f"https://example.org/{number}" for number in range(3)]
    assert storage.count_articles() == 255


# --- search


@pytest.fixture
def library(storage: Storage) -> Storage:
    storage.store(make_article("mask", "В аптеках нет дефицита масок.", title="Маски есть", hours=1))
    storage.store(make_article("oil", "Цена нефти растёт. О масках ни слова.", title="Нефть", hours=2))
    storage.store(
        make_article("run", "She was running; the masks fell.", title="A race", language="en", hours=3)
    )
    storage.store(
        make_article("cafe", "Café chairs. 北京 is far. Ёлки, йод.", title="Été", language="en", hours=4)
    )
    return storage


def _paths(storage: Storage, query: str, **asked: object) -> list[str]:
    hits = storage.search(query, **asked)  # type: ignore[arg-type]
    return [hit.article.canonical_url.rsplit("/", 1)[1] for hit in hits]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("маска", {"mask", "oil"}),
        ("МАСКАМИ дефицит", {"mask"}),
        ("маска -нефть", {"mask"}),
        ("title:маска", {"mask"}),
        ("title:нефти", {"oil"}),
        ("TITLE:дефицит", set()),
        ('"дефицит масок"', {"mask"}),
        ('"масок дефицит"', set()),
        ("«дефицита масок»", {"mask"}),
        ("растет", {"oil"}),
        ("runs", {"run"}),
        ("mask", {"run"}),
        ("cafe chair", {"cafe"}),
        ("CAFÉ", {"cafe"}),
        ("елка", {"cafe"}),
        ("иод", set()),
        ("北京", {"cafe"}),
        ("京北", set()),
        ("-маска", {"run", "cafe"}),
        ('-"нет дефицита" -race', {"oil", "cafe"}),
        ("дефициту", {"mask"}),
        ("ничего такого", set()),
    ],
)
def test_search_understands_what_people_type(library: Storage, query: str, expected: set[str]) -> None:
    assert set(_paths(library, query)) == expected


@pytest.mark.parametrize(
    "query",
    [
        *(
            '"',
            '"""',
            "-",
            "--",
            '-"',
            "title:",
            "-title:",
            "title:title:x",
            "🙂",
            "\x00",
            "\ud800",
            "\\",
            "%_",
        ),
        *("*", "(", "^", "+", "a OR", "NOT", "NEAR(", "{title}:", "'; DROP TABLE article;"),
        *("a" * 100_000, "слово " * 5_000, "кредит " * 500, f'"{"кредит " * 500}"'),
    ],
)
def test_any_text_is_a_legal_query(library: Storage, query: str) -> None:
    for by_time in (False, True):
        assert isinstance(library.search(query, by_time=by_time), list)


def test_a_blank_query_finds_all_and_one_without_words_nothing(library: Storage) -> None:
    assert _paths(library, "  ") == ["cafe", "run", "oil", "mask"]
    assert _paths(library, "🙂 !!!") == []


def test_order_limit_and_filter_of_a_search(library: Storage) -> None:
    assert _paths(library, "маски") == ["mask", "oil"]  # the title weighs more
    assert _paths(library, "маски", by_time=True) == ["oil", "mask"]
    assert _paths(library, "маски", limit=1) == ["mask"]
    assert _paths(library, "маски", limit=0) == []
    assert _paths(library, "", where=ArticleFilter(language="en")) == ["cafe", "run"]
    assert _paths(library, "маски", where=ArticleFilter(until=NOON + timedelta(hours=2))) == ["mask"]
    scores = [hit.score for hit in library.search("маски")]
    assert scores[0] > scores[1] > 0


def test_a_snippet_shows_the_matches(library: Storage) -> None:
    assert [hit.snippet for hit in library.search("дефицитом аптека")] == [
        "В [аптеках] нет [дефицита] масок."
    ]
    assert [hit.snippet for hit in library.search("race")] == ["A [race]"]


def test_only_the_present_version_is_found(storage: Storage) -> None:
    storage.store(make_article("a", "Earlier words"))
    storage.store(make_article("a", "Present words"))
    assert _paths(storage, "earlier") == []
    assert _paths(storage, "-earlier") == ["a"]
    assert _paths(storage, "present words") == ["a"]


# --- stories


def test_stories_by_their_newest_member(storage: Storage) -> None:
    for name, story, hours in (
        ("a", "s", 0),
        ("b", "s", -1),
        ("c", "t", 5),
        ("d", "t", 4),
        ("e", "alone", 9),
    ):
        storage.store(make_article(name, name, hours=hours, source=f"{name}.org"))
        storage.assign_story(f"https://{name}.org/{name}", story, None)
    storage.assign_story("https://nowhere.org/x", "s", None)

    found = storage.stories()
    assert [story.story for story in found] == ["t", "s"]
    assert [article.source for article in found[1].members] == ["b.org", "a.org"]
    assert found[0].sources == {"c.org", "d.org"}
    assert [story.story for story in storage.stories(min_members=1)] == ["alone", "t", "s"]
    assert [story.story for story in storage.stories(limit=1)] == ["t"]
    assert storage.stories(limit=0) == []
    since = storage.stories(since=NOON + timedelta(hours=5))
    assert [(story.story, len(story.members)) for story in since] == [("t", 2)]
    assert storage.stories(min_members=3) == []


# --- pages


def test_a_page_comes_back_whole(storage: Storage) -> None:
    page = make_page(
        "a",
        ("front",),
        state="done",
        http_status=200,
        content_type="text/html",
        content_length=10**30,
        server="nginx",
        etag='"x"',
        last_modified="Fri, 03 May 2024 12:00:00 GMT",
        content_hash="abc",
        referrer_count=1,
        links_count=7,
        last_fetched=200.5,
        last_full_fetch=200.5,
        next_due=300.0,
        checks=3,
        changes=2,
        failures=1,
        history=[{"at": 200.5, "event": "fetched", "status": 200}],
    )
    storage.save_pages([page])
    page.content_length = 2**63 - 1  # a header may claim anything
    assert storage.pages([page.fingerprint, b"unknown"]) == {page.fingerprint: page}
    assert storage.pages([]) == {}


def test_discovering_adds_referrers_and_the_smaller_depth(storage: Storage) -> None:
    storage.discover([make_page("a", ("x",), depth=3)])
    storage.save_pages([make_page("a", state="done", depth=3, checks=1)])
    for _ in range(2):
        storage.discover(
            [make_page("a", ("y",), depth=1), make_page("a", ("z",), depth=2), make_page("b", ("y",))]
        )
    found = storage.pages([make_page("a").fingerprint])[make_page("a").fingerprint]
    assert found.referrers == [f"https://example.org/{name}" for name in "xyz"]
    assert found.referrer_count == 3
    assert (found.depth, found.state, found.checks) == (1, "done", 1)
    assert len(list(storage.iter_pages())) == 2


def test_a_page_met_twice_in_one_batch_is_one_page(storage: Storage) -> None:
    storage.discover([make_page("a", ("x",), depth=4), make_page("a", ("y",), depth=2)])
    (found,) = storage.iter_pages()
    assert (found.referrers, found.referrer_count, found.depth) == (
        ["https://example.org/x", "https://example.org/y"],
        2,
        2,
    )


def test_many_referrers_are_counted_and_the_first_kept(storage: Storage) -> None:
    for _ in range(2):
        for number in range(500):
            storage.discover([make_page("a", (str(number),))])
    (found,) = storage.iter_pages()
    assert found.referrers == [f"https://example.org/{number}" for number in range(MAX_REFERRERS)]
    assert 450 <= found.referrer_count <= 550


def test_saving_keeps_what_only_grows(storage: Storage) -> None:
    storage.discover([make_page("a", ("x",), first_seen=100.0)])
    storage.save_pages([make_page("a", ("other",), first_seen=999.0, http_status=404, state="gone")])
    (found,) = storage.iter_pages()
    assert (found.first_seen, found.referrers, found.referrer_count) == (100.0, ["https://example.org/x"], 1)
    assert (found.http_status, found.state) == (404, "gone")


def test_history_grows_by_what_is_new_and_is_bounded(storage: Storage) -> None:
    events = [{"at": float(number), "event": "fetched"} for number in range(MAX_HISTORY + 10)]
    storage.save_pages([make_page("a", history=events[:5])])
    storage.save_pages([make_page("a", history=events[3:8])])
    storage.save_pages([make_page("a")])
    (found,) = storage.iter_pages()
    assert found.history == events[:8]
    found.history += events[8:]
    for _ in range(2):
        storage.save_pages([found])
    assert next(storage.iter_pages()).history == events[-MAX_HISTORY:]


def test_where_a_page_was_discovered_is_never_forgotten(storage: Storage) -> None:
    first = {"at": 1.0, "event": "discovered", "where": "seed"}
    events = [{"at": float(number), "event": "fetched"} for number in range(2, 3 * MAX_HISTORY)]
    storage.discover([make_page("a", history=[first])])
    for start in range(0, len(events), 7):
        storage.save_pages([make_page("a", history=events[start : start + 7])])
    assert next(storage.iter_pages()).history == [first, *events[1 - MAX_HISTORY :]]


def test_pages_that_are_due_come_earliest_first(storage: Storage) -> None:
    dues = {"never": None, "at": 50.0, "after": 51.0, "until": 60.0, "later": 60.5}
    storage.save_pages([make_page(name, next_due=due) for name, due in dues.items()])
    storage.save_pages([make_page(f"together-{n}", next_due=55.0) for n in range(1100)])  # more than a batch
    due = [page.url.rpartition("/")[2] for page in storage.due_pages(after=50.0, until=60.0)]
    assert (due[0], due[-1]) == ("after", "until")
    assert sorted(due[1:-1]) == sorted(f"together-{n}" for n in range(1100))
    storage.save_pages([make_page("after", next_due=None)])
    assert [page.next_due for page in storage.due_pages(after=0.0, until=54.0)] == [50.0]
    assert list(storage.due_pages(after=60.5, until=1e12)) == []


def test_pages_are_streamed_by_source_kind_and_state_while_writing_goes_on(storage: Storage) -> None:
    storage.discover([make_page(str(number)) for number in range(1200)])
    storage.discover(
        [make_page("feed", kind=Kind.FEED, state="done"), make_page("elsewhere", source="other.org")]
    )
    assert [page.url for page in storage.iter_pages(kind=Kind.FEED)] == ["https://example.org/feed"]
    assert len(list(storage.iter_pages(source="example.org", kind=Kind.ARTICLE, state="pending"))) == 1200
    assert [page.source for page in storage.iter_pages(source="other.org")] == ["other.org"]
    seen: list[PageRecord] = []
    for page in storage.iter_pages(source="example.org"):
        seen.append(page)
        if len(seen) in (1, 600):
            page.checks += 1
            storage.save_pages([page])
            storage.discover([make_page(f"late{len(seen)}")])
    assert len({page.fingerprint for page in seen}) == len(seen) == 1201


# --- sources and sites


def test_source_records_are_written_whole(storage: Storage) -> None:
    feed = SourceRecord(url="https://a.org/feed", source="a.org", kind=Kind.FEED, polls=2, next_due=5.0)
    front = SourceRecord(
        url="https://b.org/",
        source="b.org",
        kind=Kind.SECTION,
        unchanged=1,
        new_links=3,
        last_poll=1.5,
        last_new=1.0,
        failures=2,
        failing_since=0.5,
        last_error="timeout \ud800",
        rhythm={"last": 5.5, "hour_items": [1.0, 2.5], "window": None},
    )
    storage.save_sources([feed, front])
    storage.save_sources(iter([feed]))
    front.last_error = "timeout ?"
    assert storage.sources() == [feed, front]
    assert storage.sources("b.org") == [front]
    feed.polls, feed.next_due = 3, None
    storage.save_sources([feed])
    assert storage.sources("a.org") == [feed]


def test_site_counters_add_up_and_later_times_win(storage: Storage) -> None:
    storage.count_site(
        SiteRecord(
            source="a.org",
            counters={"articles": 2, "pages": 1.5},
            last_article=10.0,
            last_error="dns",
            last_error_at=9.0,
        )
    )
    storage.count_site(SiteRecord(source="a.org", counters={"articles": 3}))
    storage.count_site(SiteRecord(source="a.org", last_article=8.0, last_error="old", last_error_at=7.0))
    storage.count_site(SiteRecord(source="b.org"))
    assert storage.sites() == {
        "a.org": SiteRecord(
            source="a.org",
            counters={"articles": 5, "pages": 1.5},
            last_article=10.0,
            last_error="dns",
            last_error_at=9.0,
        ),
        "b.org": SiteRecord(source="b.org"),
    }


def test_all_stays_after_closing(place: Place) -> None:
    storage = place.open()
    storage.store(make_article("a"))
    storage.discover([make_page("a")])
    storage.close()
    storage = place.open()
    assert storage.count_articles() == 1
    assert len(list(storage.iter_pages())) == 1
    storage.close()


def test_rights_are_brought_up_to_date_without_a_version(storage: Storage) -> None:
    kept = make_article("a", rights={"noai": "meta"})
    storage.store(kept)
    found = storage.article(kept.canonical_url)
    assert found is not None
    assert found.rights == {"noai": "meta"}
    storage.save_rights(kept.canonical_url, {"tdm-reservation": "header", "tdm-policy": "https://a.test/p"})
    storage.save_rights("https://example.org/unknown", {"noai": "meta"})
    found = storage.article(kept.canonical_url)
    assert found is not None
    assert found.rights == {"tdm-reservation": "header", "tdm-policy": "https://a.test/p"}
    assert found.version == 1
    assert storage.count_articles() == 1
