"""In every storage, several processes can store at the same time, or write while another process reads."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from datetime import timedelta
from multiprocessing.synchronize import Barrier

from newsbot.items import Article, ArticleFilter
from newsbot.storage.articles import Verdict
from newsbot.storage.base import Storage
from tests import warm
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import NOON, make_article, make_page


def _store_at_once(place: Place, barrier: Barrier, name: str, answers: multiprocessing.Queue[str]) -> None:
    storage = place.open()
    try:
        for turn in range(25):
            article = make_article(f"{turn}/{name}", f"The same text {turn}.")
            barrier.wait(60)
            answers.put(f"{turn} {storage.articles.store(article).verdict}")
    finally:
        storage.close()


def test_concurrent_processes_store_a_text_once(place: Place) -> None:
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
    assert storage.articles.count() == 25
    storage.close()


def test_two_workers_see_each_others_articles(place: Place) -> None:
    one, other = place.open(), place.open()
    one.articles.store(make_article("a"))
    assert other.articles.get("https://example.org/a") == make_article("a")
    assert other.articles.store(make_article("a")).verdict is Verdict.UNCHANGED
    one.close()
    other.close()


def test_filters_can_be_combined(storage: Storage) -> None:
    storage.articles.store(make_article("a", "A", hours=0))
    storage.articles.store(make_article("b", "B", hours=1, language="en", story="s"))
    storage.articles.store(make_article("c", "C", hours=2, source="other.org", language="en"))
    storage.articles.store(make_article("d", "D", hours=3, published_at=None))

    def paths(**fields: object) -> list[str]:
        where = ArticleFilter(**fields)  # type: ignore[arg-type]
        found = [article.canonical_url.rsplit("/", 1)[1] for article in storage.articles.iter(where)]
        assert storage.articles.count(where) == len(found)
        return found

    assert paths() == ["a", "b", "c", "d"]
    assert paths(source="example.org") == ["a", "b", "d"]
    assert paths(language="en") == ["b", "c"]
    assert paths(language="en", source="other.org") == ["c"]
    assert paths(story="s") == ["b"]
    assert paths(since=NOON + timedelta(hours=1)) == ["b", "c", "d"]
    assert paths(since=NOON + timedelta(hours=1), until=NOON + timedelta(hours=2)) == ["b"]
    assert paths(since=NOON + timedelta(hours=3)) == ["d"]  # "d" has only the time of its download


def test_articles_can_be_streamed_while_articles_are_stored(storage: Storage) -> None:
    for number in range(250):
        storage.articles.store(make_article(str(number), f"Text {number}", hours=number))
    seen: list[Article] = []
    for article in storage.articles.iter():
        seen.append(article)
        if len(seen) % 50 == 0:
            storage.articles.store(make_article(f"new{len(seen)}", f"New {len(seen)}", hours=1000))
            storage.articles.store(make_article("0", f"Changed {len(seen)}", hours=2000))
    urls = [article.canonical_url for article in seen]
    assert len(urls) == len(set(urls)) == 250
    assert urls[:3] == [f"https://example.org/{number}" for number in range(3)]
    assert storage.articles.count() == 255


def test_all_data_is_kept_after_closing(place: Place) -> None:
    storage = place.open()
    storage.articles.store(make_article("a"))
    storage.pages.discover([make_page("a")])
    storage.close()
    storage = place.open()
    assert storage.articles.count() == 1
    assert len(list(storage.pages.iter())) == 1
    storage.close()
