"""Stories do not depend on the order of articles, even with bridges, templates and shortened texts."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pymongo import MongoClient

from newsbot.config.settings import SettingsLike
from newsbot.dedup.index import text_key
from newsbot.items import Article, ArticleFilter
from newsbot.pipelines.exact import ExactDuplicatePipeline
from newsbot.pipelines.near import NearDuplicatePipeline
from newsbot.pipelines.store import StorePipeline
from newsbot.storage.articles import RepeatedText, Story, story_id
from newsbot.storage.base import Storage
from testbed.redisserver import redis_url
from tests.builders import Desk, make_article
from tests.searching import find

NOW = datetime(2026, 5, 3, 12, tzinfo=UTC)
LONG = [f"word{place}" for place in range(600)]
WEATHER = " ".join(
    f"в городе ожидается переменная облачность местами дождь пункт {chr(97 + n)}" for n in range(25)
)


def window(start: int, length: int = 200) -> str:
    return " ".join(LONG[start : start + length])


TEXTS = {
    "https://a.test/chain": window(0),
    "https://b.test/chain": window(40),  # similar to its neighbours, which are not similar to each other
    "https://c.test/chain": window(80),
    "https://d.test/chain": window(120),
    "https://a.test/weather/1": f"{WEATHER} ветер 3 метра 12 градусов 745 мм",
    "https://a.test/weather/2": f"{WEATHER} ветер 7 метров 19 градусов 751 мм",
    "https://g.test/weather/1": f"{WEATHER} ветер 3 метра 12 градусов 745 мм",  # a copy on another site
    "https://g.test/weather/2": f"{WEATHER} ветер 7 метров 19 градусов 751 мм",
    "https://e.test/whole": window(400, 190),
    "https://f.test/cut": window(460, 84),  # J = .44, but it is completely contained in the full text
}
STORIES = {
    frozenset(
        {"https://a.test/chain", "https://b.test/chain", "https://c.test/chain", "https://d.test/chain"}
    ),
    frozenset({"https://a.test/weather/1", "https://g.test/weather/1"}),
    frozenset({"https://a.test/weather/2", "https://g.test/weather/2"}),
    frozenset({"https://e.test/whole"}),
    frozenset({"https://f.test/cut"}),
}


def article_of(url: str, minute: int = 0) -> Article:
    text = TEXTS[url]
    return make_article(
        1,
        url=url,
        canonical_url=url,
        source=url.split("/")[2],
        text=text,
        content_hash=text_key(text),
        fetched_at=NOW + timedelta(minutes=minute),
    )


@dataclass
class Newsroom:
    """The pipelines that find stories and store articles, on one type of backend."""

    settings: Callable[[], dict[str, str]]

    def stories(self, order: list[str]) -> tuple[dict[str, str], list[Article]]:
        """Process articles; return the story of each, and the stored articles."""
        with TemporaryDirectory() as folder:
            desk = Desk(Path(folder), None, self.settings())
            try:
                for minute, url in enumerate(order):
                    take(desk, article_of(url, minute))
                kept = list(desk.context.storage.articles.iter())
            finally:
                desk.crawl.close()
        return {one.canonical_url: one.story or "" for one in kept}, kept


def take(desk: Desk, article: Article) -> Article:
    for kind in (ExactDuplicatePipeline, NearDuplicatePipeline, StorePipeline):
        article = asyncio.run(kind.from_crawler(desk.crawler).process_item(article))
    return article


def clusters(stories: dict[str, str]) -> set[frozenset[str]]:
    return {frozenset(url for url in stories if stories[url] == story) for story in stories.values()}


@pytest.fixture(scope="module", params=["file", "servers"])
def newsroom(request: pytest.FixtureRequest) -> Iterator[Newsroom]:
    if request.param == "file":
        yield Newsroom(dict)
        return
    uri: str = request.getfixturevalue("mongo_uri")
    address = redis_url()
    place, _, options = uri.partition("?")
    database = f"newsbot_stories_{secrets.token_hex(4)}"
    with MongoClient[dict[str, object]](uri) as client:

        def fresh() -> dict[str, str]:
            for name in ("articles", "versions", "texts", "aliases", "words_waiting", "joined"):
                client[database][name].delete_many({})
            return {
                "MONGO_URI": f"{place}{database}?{options}",
                "REDIS_URL": address,
                "NEWSBOT_TEST_NAMESPACE": secrets.token_hex(4),
            }

        yield Newsroom(fresh)
        client.drop_database(database)


@pytest.fixture(autouse=True)
def an_index_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests share the server, so each desk gets its own index."""
    from newsbot import backends
    from newsbot.apps.redis.index import RedisIndex

    real = backends.open_index

    def open_index(chosen: SettingsLike) -> object:
        name = chosen.get("NEWSBOT_TEST_NAMESPACE")
        return RedisIndex(chosen, namespace=f"test-{name}") if name else real(chosen)

    monkeypatch.setattr(backends, "open_index", open_index)


@given(order=st.permutations(sorted(TEXTS)))
@example(
    order=["https://a.test/chain", "https://d.test/chain", "https://c.test/chain", "https://b.test/chain"]
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stories_do_not_depend_on_the_order_of_arrival(newsroom: Newsroom, order: list[str]) -> None:
    found, _ = newsroom.stories(order)
    assert clusters(found) == {story & set(order) for story in STORIES if story & set(order)}


def test_the_older_story_keeps_its_id(newsroom: Newsroom) -> None:
    first, second, bridge = (f"https://{site}.test/chain" for site in "acb")
    found, kept = newsroom.stories([first, second, bridge])
    assert set(found.values()) == {story_id(first)}
    assert {one.canonical_url: one.relation for one in kept}[bridge] == "member"


def test_an_excerpt_names_the_full_text_and_has_its_own_story(newsroom: Newsroom) -> None:
    for order in (
        ["https://e.test/whole", "https://f.test/cut"],
        ["https://f.test/cut", "https://e.test/whole"],
    ):
        found, kept = newsroom.stories(order)
        later = next(one for one in kept if one.canonical_url == order[1])
        assert (later.relation, later.derived_from) == ("derived", [order[0]])
        assert later.story == story_id(order[1])
        assert len(set(found.values())) == 2


# --- guarantees of storages


@pytest.fixture
def storage(newsroom: Newsroom, tmp_path: Path) -> Iterator[Storage]:
    desk = Desk(tmp_path, None, newsroom.settings())
    yield desk.context.storage
    desk.crawl.close()


def put(storage: Storage, url: str, minute: int = 0, story: str | None = None) -> None:
    article = make_article(
        minute,
        url=url,
        canonical_url=url,
        source=url.split("/")[2],
        text=url,
        content_hash=text_key(url),
        story=story or story_id(url),
        fetched_at=NOW + timedelta(minutes=minute),
        published_at=NOW - timedelta(minutes=minute),
    )
    storage.articles.store(article)


A, B, C, D = (f"https://{name}.test/1" for name in "abcd")


def members(storage: Storage, url: str) -> set[str]:
    kept = storage.articles.get(url)
    assert kept is not None
    return {one.canonical_url for one in storage.articles.iter(ArticleFilter(story=kept.story))}


def test_joining_stories_moves_all_members(storage: Storage) -> None:
    for minute, url in enumerate((A, B, C, D)):
        put(storage, url, minute)
    assert storage.stories.join([B, A]).story == story_id(A)
    assert storage.stories.join([C, D]).story == story_id(C)
    assert storage.stories.join([D, B]).story == story_id(A)
    assert members(storage, C) == {A, B, C, D}
    again = storage.stories.join([D, B])
    assert (again.story, again.missing) == (story_id(A), False)


def test_the_id_of_a_joined_story_finds_the_new_story(storage: Storage) -> None:
    """Exports, searches and lists of new articles that contain the old id still work."""
    for minute, url in enumerate((A, B, C)):
        put(storage, url, minute)
    storage.stories.join([A, B])
    storage.stories.join([B, C])
    for url in (A, B, C):
        where = ArticleFilter(story=story_id(url))
        assert [one.canonical_url for one in storage.articles.iter(where)] == [A, B, C]
        assert storage.articles.count(where) == 3
        assert {hit.article.canonical_url for hit in find(storage, "test", where)} == {A, B, C}
        assert {hit.article.canonical_url for hit in find(storage, "", where)} == {A, B, C}
    assert storage.articles.count(ArticleFilter(story=story_id(D))) == 0


def test_an_article_stored_later_gets_the_current_story(storage: Storage) -> None:
    put(storage, A, 0)
    joined = storage.stories.join([A, B])
    assert (joined.story, joined.missing) == (story_id(A), True)
    put(storage, C, 1)
    storage.stories.join([A, C])
    put(storage, B, 2)
    assert storage.stories.join([B]).story == story_id(A)
    assert members(storage, B) == {A, B, C}


def test_stories_of_articles_that_are_not_stored_yet_can_be_joined(storage: Storage) -> None:
    storage.stories.join([A, B])
    storage.stories.join([B, C])
    for url in (C, A, B):
        put(storage, url)
        storage.stories.join([url])
    assert members(storage, A) == {A, B, C}


def test_a_story_may_have_members_before_its_first_article_is_stored(storage: Storage) -> None:
    """An article may take the story of one that is not stored yet, which may then get another story."""
    joined = storage.stories.join([B])
    assert (joined.story, joined.missing) == (story_id(B), True)
    put(storage, A, 0)
    put(storage, B, 1, story_id(A))
    put(storage, C, 2, story_id(B))
    for url in (B, C):
        storage.stories.join([url])
    assert members(storage, A) == {A, B, C}
    assert storage.stories.join([C]).story == storage.stories.join([B]).story == story_id(A)


def test_texts_of_many_urls(storage: Storage) -> None:
    for number in range(12):
        for url, urls in ((f"https://a.test/{number}", 12), (f"https://b.test/{number}", 11)):
            if number < urls:
                text = url.split("/")[2]
                storage.articles.store(
                    make_article(
                        1, url=url, canonical_url=url, source=text, text=text, content_hash=text_key(text)
                    )
                )
    put(storage, C)
    assert storage.texts.repeated() == [
        RepeatedText("a.test", "https://a.test/0", 12),
        RepeatedText("b.test", "https://b.test/0", 11),
    ]
    assert [one.urls for one in storage.texts.repeated(least=12)] == [12]
    assert storage.texts.repeated(limit=0) == []


def test_the_first_publisher_is_determined_by_the_pages(storage: Storage) -> None:
    for minute, url in enumerate((A, B, C)):
        put(storage, url, minute, "story")
    put(storage, "https://a.test/2", 3, "another")
    put(storage, "https://a.test/3", 4, "another")
    several = storage.stories.recent(min_sources=2)
    assert [one.story for one in several] == ["story"]
    assert several[0].first.canonical_url == C  # fetched last
    assert storage.stories.recent(min_sources=4) == []
    assert {one.story for one in storage.stories.recent()} == {"story", "another"}


DAY = NOW.replace(hour=0)


def member(site: str, published: datetime | None, seen: float, precision: str | None = "minute") -> Article:
    """Return an article of a site; ``seen``: hours since the start of the day."""
    moment = DAY + timedelta(hours=seen)
    return make_article(
        1,
        canonical_url=f"https://{site}.test/1",
        source=f"{site}.test",
        published_at=published,
        published_precision=precision if published else None,
        fetched_at=moment + timedelta(hours=30),  # a later version
        discovered_at=moment,
    )


AT_EIGHT = member("eight", DAY + timedelta(hours=8), 20)


@pytest.mark.parametrize(
    ("others", "first"),
    [
        ([member("day", DAY, 12, "day")], "eight"),  # midnight means that only the day is known
        ([member("day", DAY, 7, "day")], "day"),  # the article was seen at seven
        ([member("day", DAY - timedelta(days=1), 12, "day")], "day"),
        ([member("untold", None, 7.5)], "untold"),
        ([member("untold", None, 8.5)], "eight"),
        ([member("redated", DAY + timedelta(hours=11), 7)], "redated"),  # the date is that of an update
        ([member("day", DAY, 9, "day"), member("early", DAY + timedelta(hours=7), 22)], "early"),
        ([member("same", DAY + timedelta(hours=8), 19)], "same"),  # equal times: the first fetch decides
        ([member("last", datetime.max.replace(tzinfo=UTC), 30, "day")], "eight"),
    ],
)
def test_the_first_article_was_certainly_published_first(others: list[Article], first: str) -> None:
    for order in permutations([AT_EIGHT, *others]):
        assert Story(story="s", members=list(order)).first.source == f"{first}.test"
