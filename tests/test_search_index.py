"""The search index and its follower over articles in memory, compared with reading every article."""

from __future__ import annotations

import fcntl
import multiprocessing
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from newsbot.apps.search import articles as following
from newsbot.apps.search import index
from newsbot.apps.search.articles import ArticleSearch
from newsbot.apps.search.index import first_row
from newsbot.apps.search.query import EVERY, Term, expression_of, language_mark, site_mark
from newsbot.errors import DataError, RecordBusy
from newsbot.items import Article, ArticleFilter
from newsbot.pages.text.words import stems
from newsbot.urls import fingerprint
from tests.contracts.storage_samples import make_article
from tests.library import MemoryLibrary
from tests.wordmodel import found_by_reading, make_articles, make_queries


@pytest.fixture
def library() -> MemoryLibrary:
    return MemoryLibrary()


@pytest.fixture
def search(tmp_path: Path, library: MemoryLibrary) -> Iterator[ArticleSearch]:
    with closing(ArticleSearch(tmp_path / "search.db", library)) as opened:
        yield opened


def urls(search: ArticleSearch, query: str, limit: int = 1000, **options: object) -> list[str]:
    found = search.find(query, limit=limit, patience=60.0, **options)  # type: ignore[arg-type]
    return [hit.article.canonical_url for hit in found]


def words_in_file(path: Path) -> set[str]:
    """Return all words of a month, including its marks."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE VIRTUAL TABLE temp.v USING fts5vocab (main, words, row)")
        return {row[0] for row in database.execute("SELECT term FROM v")}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("at_once", [7, 500])
def test_any_query_finds_the_same_articles_as_a_full_scan(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch, seed: int, at_once: int
) -> None:
    monkeypatch.setattr(following, "AT_ONCE", at_once)
    monkeypatch.setattr(following, "IN_BULK", 1)
    articles = make_articles(seed, 200)
    for number, article in enumerate(articles):
        library.store(article)
        if number % 40 == 0:
            search.follow()
    for article in articles[::3]:  # new versions with the words in reverse order
        library.store(replace(article, text=" ".join(reversed(article.text.split()))))
    search.follow()
    for article in articles[::5]:
        library.remove(article.canonical_url)
    present = list(library.articles.values())
    for query in make_queries(seed, 80):
        newest, best = urls(search, query, by_time=True), urls(search, query)
        assert set(newest) == set(best) == found_by_reading(present, query), query
        assert len(newest) == len(set(newest))
        moments = [library.articles[fingerprint(url)].published_at for url in newest]
        assert moments == sorted(moments, reverse=True)  # type: ignore[type-var]
    assert search.waiting() == 0


def test_a_search_works_while_other_workers_number_changes(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.store(make_article("a", "Слово."))
    search.follow()

    def busy(*_: object) -> None:
        raise RecordBusy("numbered by another worker")

    monkeypatch.setattr(library, "changes_since", busy)
    assert len(urls(search, "слово")) == 1


def test_counts_are_those_of_a_full_scan(search: ArticleSearch, library: MemoryLibrary) -> None:
    for article in make_articles(3, 150):
        library.store(article)
    library.store(make_article("old", "w0", published_at=datetime(1969, 12, 31, 23, tzinfo=UTC)))
    library.store(make_article("undated", "w0", published_at=None, fetched_at=None))
    for query in ("w0", "w1 -w2", "lang:ru OR w3", "xyz"):
        found = search.find(query, limit=1000)
        counts = search.counts(query)
        days = Counter(str(hit.article.published_at.date()) for hit in found if hit.article.published_at)
        assert (counts.total, counts.days) == (len(found), dict(sorted(days.items())))
        assert counts.sites == Counter(hit.article.source for hit in found)
        assert counts.languages == Counter(hit.article.language or "" for hit in found)
        assert list(counts.sites.values()) == sorted(counts.sites.values(), reverse=True)
    assert search.counts("").total == 152
    assert search.counts("🙂").total == 0
    assert "1969-12-31" in search.counts("w0").days


def test_result_pages_have_no_gaps(search: ArticleSearch, library: MemoryLibrary) -> None:
    for article in make_articles(1, 120):
        library.store(article)
    for by_time in (False, True):
        whole = urls(search, "w0", by_time=by_time)
        pages = [urls(search, "w0", 7, skip=skip, by_time=by_time) for skip in range(0, len(whole), 7)]
        assert [url for page in pages for url in page] == whole


def test_matches_are_ranked_with_one_query_despite_copies(
    search: ArticleSearch, library: MemoryLibrary
) -> None:
    for number in range(100):
        story = f"{number // 25:032x}"
        library.store(make_article(f"{number}", "Слово " * (number + 1), story=story))
    search.follow()
    statements: list[str] = []
    months = search._index.months
    file = months.opened(1, *months.names(1))
    assert file is not None
    file.set_trace_callback(statements.append)
    assert len(urls(search, "слово", 4, by_time=False)) == 4
    assert len([one for one in statements if "bm25" in one]) == 1


def test_no_words_of_removed_articles_are_left(
    search: ArticleSearch, library: MemoryLibrary, tmp_path: Path
) -> None:
    for number in range(30):
        library.store(make_article(f"{number}", f"Слово secret{number} " * 3, authors=[f"Анна Ким{number}"]))
    search.follow()
    for number in range(29):
        library.remove(f"https://example.org/{number}")
    library.store(make_article("29", "Совсем иное."))
    assert urls(search, "слово") == []
    assert urls(search, "иное") == ["https://example.org/29"]
    (file,) = (tmp_path / "search" / "1").glob("*.db")
    with closing(sqlite3.connect(file)) as database:
        database.execute("INSERT INTO words (words) VALUES ('optimize')")
        database.commit()
    left = words_in_file(file)
    assert not [word for word in left if "secret" in word or "ким" in word or word == "слов"]
    assert EVERY in left


def test_marks_and_authors_are_not_mixed_up_with_words(search: ArticleSearch, library: MemoryLibrary) -> None:
    text = f"all none § ¶ ¶ким {site_mark('example.org')} {language_mark('ru')}"
    library.store(make_article("text", text, language="en", source="example.com", authors=[]))
    library.store(make_article("author", "Слово.", authors=["All None §all", "s6578616d706c652e6f7267"]))
    assert urls(search, "all") == urls(search, "none") == ["https://example.com/text"]
    assert urls(search, "author:all") == urls(search, "author:none") == ["https://example.org/author"]
    assert urls(search, "author:ким") == urls(search, "site:example.com lang:ru") == []
    assert urls(search, "-слово") == ["https://example.com/text"]
    assert urls(search, "lang:en") == ["https://example.com/text"]
    assert len(urls(search, "all OR author:all")) == 2


def test_many_articles_of_the_same_time_are_all_indexed(
    search: ArticleSearch, library: MemoryLibrary
) -> None:
    day = datetime(2024, 5, 3, tzinfo=UTC)
    for number in range(300):
        library.store(make_article(f"{number}", "Слово.", published_at=day, content_hash=str(number)))
    library.store(make_article("undated", "Слово.", published_at=None, fetched_at=None))
    library.store(make_article("old", "Слово.", published_at=datetime(1905, 1, 1, tzinfo=UTC)))
    library.store(make_article("next", "Слово.", published_at=day + timedelta(hours=1)))
    found = urls(search, "слово", by_time=True)
    assert len(found) == 303
    assert found[0].endswith("/next")
    assert [url.rsplit("/", 1)[1] for url in found[-2:]] == ["old", "undated"]
    assert len(urls(search, "слово since:2024-05-03 until:2024-05-04")) == 301
    late = ArticleFilter(since=day + timedelta(seconds=1))
    assert urls(search, "слово", where=late) == ["https://example.org/next"]
    early = ArticleFilter(until=day + timedelta(microseconds=1))
    assert len(urls(search, "слово", where=early)) == 301  # without the article that has no date


@pytest.mark.parametrize("moment", [datetime.min, datetime.max])
def test_any_time_can_be_indexed(moment: datetime) -> None:
    assert abs(first_row(moment.replace(tzinfo=UTC))) < 1 << 45


def test_another_storage_and_an_older_backup_cause_a_rebuild(
    search: ArticleSearch, library: MemoryLibrary, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        library.store(make_article(name, f"Слово {name}."))
    assert len(urls(search, "слово")) == 2
    restored = MemoryLibrary()
    restored.store(make_article("a", "Слово a."))
    with closing(ArticleSearch(tmp_path / "search.db", restored)) as again:
        assert urls(again, "слово") == ["https://example.org/a"]
    other = MemoryLibrary("two")
    for name in ("c", "d", "e"):
        other.store(make_article(name, f"Слово {name}."))
    with closing(ArticleSearch(tmp_path / "search.db", other)) as again:
        assert len(urls(again, "слово")) == 3
        assert again.waiting() == 0


def test_the_old_index_is_used_during_a_rebuild(
    search: ArticleSearch, library: MemoryLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "AT_ONCE", 10)
    monkeypatch.setattr(following, "IN_BULK", 1)
    for number in range(40):
        library.store(make_article(f"{number}", "Слово."))
    search.follow()
    answers = []

    def ask(_written: int) -> None:
        with closing(ArticleSearch(tmp_path / "search.db", library)) as other:
            answers.append(len(other.find("слово", limit=100, patience=0.1)))
            assert not other.remake()

    assert search.remake(ask)
    assert set(answers) == {40}
    assert len(answers) >= 4
    assert search.waiting() == 0
    assert len(urls(search, "слово")) == 40


def test_an_interrupted_rebuild_continues(
    search: ArticleSearch, library: MemoryLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "AT_ONCE", 10)
    monkeypatch.setattr(following, "IN_BULK", 1)
    for number in range(40):
        library.store(make_article(f"{number}", "Слово."))
    search.follow()

    class Killed(Exception):
        pass

    def die(written: int) -> None:
        if written >= 20:
            raise Killed

    with pytest.raises(Killed):
        search.remake(die)
    library.store(make_article("new", "Слово."))
    written: list[int] = []
    with closing(ArticleSearch(tmp_path / "search.db", library)) as other:
        other.follow(tell=written.append)
        assert written[-1] == 21
        assert len(urls(other, "слово")) == 41


def test_several_followers_write_each_change_once(
    library: MemoryLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "AT_ONCE", 5)
    monkeypatch.setattr(following, "IN_BULK", 1)
    articles = make_articles(5, 200)
    for article in articles:
        library.store(article)
    written: list[int] = []

    def follow() -> None:
        with closing(ArticleSearch(tmp_path / "search.db", library)) as one:
            mine = [0]
            assert one.follow(tell=mine.append)
            written.append(mine[-1])

    threads = [threading.Thread(target=follow) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(written) == 200
    with closing(ArticleSearch(tmp_path / "search.db", library)) as one:
        assert set(urls(one, "-w0")) == found_by_reading(articles, "-w0")


def test_a_killed_follower_leaves_a_valid_index_and_no_lock(library: MemoryLibrary, tmp_path: Path) -> None:
    for number in range(3000):
        library.store(make_article(f"{number}", f"Слово {number}."))
    process = multiprocessing.get_context("fork").Process(target=_follow, args=(tmp_path, library))
    process.start()
    process.join(0.3)
    process.kill()
    process.join()
    with closing(ArticleSearch(tmp_path / "search.db", library)) as search:
        assert search.follow()
        assert len(urls(search, "слово", 5000)) == 3000


def _follow(folder: Path, library: MemoryLibrary) -> None:
    ArticleSearch(folder / "search.db", library).follow()


def test_an_index_of_another_version_is_rebuilt(
    library: MemoryLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.store(make_article("a", "Слово."))
    for layout in (99, 100):
        monkeypatch.setattr(index, "LAYOUT", layout)
        with closing(ArticleSearch(tmp_path / "search.db", library)) as search:
            assert search.waiting() == 1
            assert urls(search, "слово") == ["https://example.org/a"]
            assert search.waiting() == 0


def test_a_search_during_the_first_update_returns_without_results(
    library: MemoryLibrary, tmp_path: Path
) -> None:
    library.store(make_article("a", "Слово."))
    with (tmp_path / "search.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with closing(ArticleSearch(tmp_path / "search.db", library)) as search:
            assert search.find("слово", patience=0.1) == []
            assert search.waiting() == 1


def test_the_number_of_waiting_articles_needs_no_full_count(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryLibrary, "count", None)
    for name in ("a", "b", "c", "d"):
        library.store(make_article(name, "Слово."))
        if name == "a":
            search.follow()
    assert search.waiting() == 3


def test_a_damaged_file_is_reported_with_the_remedy(tmp_path: Path, library: MemoryLibrary) -> None:
    (tmp_path / "search.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(DataError, match=r"search\.db.*delete it"):
        ArticleSearch(tmp_path / "search.db", library)


def test_the_interpretation_of_a_query_is_explained_if_there_are_no_results(
    search: ArticleSearch, library: MemoryLibrary
) -> None:
    library.store(make_article("a", "Мост закрыт.", title="Город"))
    library.store(make_article("b", "Река вышла.", title="Погода"))
    search.follow()
    assert search.explain("мост", found=True) == []
    assert search.explain('"мост', found=True) == ["a quote was not closed: the phrase extends to the end"]
    assert search.explain("мост -троллейбус пароход lang:ru", found=False) == [
        "understood as: мост AND -троллейбус AND пароход AND lang:ru",
        "no article has пароход; look for another spelling, or write word*",
    ]
    understood, advice = search.explain("мост title:погода since:2020", found=False)
    assert understood == "understood as: мост AND title:погода AND since:2020-01-01T00:00Z"
    assert advice.startswith("each part matches articles")
    assert search.explain("🙂", found=False) == ["the query has no words"]


def test_a_changed_article_is_not_found_by_its_old_words_before_the_index_is_updated(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    article: Article = make_article("a", "Раннее слово.")
    library.store(article)
    search.follow()
    library.store(replace(article, text="Позднее."))
    monkeypatch.setattr(following.Updater, "follow", lambda *_: False)
    assert urls(search, "слово") == []


def of_month(name: str, month: str, text: str = "Слово.") -> Article:
    return make_article(name, text, published_at=datetime.fromisoformat(f"{month}-15T00:00:00+00:00"))


def test_a_search_reads_the_latest_months_only(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(48):
        month = f"{2022 + number // 12}-{number % 12 + 1:02}"
        for name in range(3):
            library.store(of_month(f"{month}-{name}", month))
    search.follow()
    months = search._index.months
    asked: list[str] = []
    opened = months.opened

    def noted(number: int, name: str) -> sqlite3.Connection | None:
        asked.append(name)
        return opened(number, name)

    monkeypatch.setattr(months, "opened", noted)
    assert len(urls(search, "слово", 5)) == 5
    assert set(asked) == {"2025-12", "2025-11"}
    assert len(urls(search, "слово", 5, where=ArticleFilter(until=datetime(2023, 2, 1, tzinfo=UTC)))) == 5
    assert set(asked[len(asked) // 2 :]) == {"2023-02", "2023-01", "2022-12"}


def test_a_file_of_many_articles_ends_with_its_day(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "FILE_SIZE", 10)
    monkeypatch.setattr(following, "AT_ONCE", 7)
    monkeypatch.setattr(following, "IN_BULK", 1)
    begin = datetime(2026, 11, 2, tzinfo=UTC)
    for number in range(100):
        moment = begin + timedelta(hours=4 * number + (30 * 24 if number == 55 else 0))
        library.store(make_article(f"{number:02}", "Слово.", published_at=moment))
    late = make_article("late", "Слово.", published_at=begin + timedelta(hours=1))
    library.store(late)
    assert len(urls(search, "слово")) == 101
    assert [url[-2:] for url in urls(search, "слово", 4)] == ["55", "99", "98", "97"]
    names = search._index.months.names(1)
    assert names[-3:] == ["2026-11-06", "2026-11-04", "2026-11"]
    assert names[0] == "2026-12"
    assert sum(len(search._index.months.rows(1, name)) for name in names) == 101
    until = ArticleFilter(since=begin + timedelta(days=3), until=begin + timedelta(days=5, hours=-1))
    assert search.counts("слово", until).total == 12
    assert len(urls(search, "слово", where=until)) == 12
    library.remove(late.canonical_url)
    assert len(urls(search, "слово")) == 100
    assert search.change_months(search.months_of("2026-11"), None)
    assert urls(search, "слово") == urls(search, "слово", 5, where=ArticleFilter(since=begin)) != []


def test_the_best_of_earlier_files_follow_and_are_read_only_if_needed(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "ENOUGH", 5)
    for number in range(36):
        month = f"2026-{number // 3 + 1:02}"
        library.store(of_month(f"{month}-{number % 3}", month, "Слово " * (1 + number * 7 % 5) + "и другие."))
    search.follow()
    read: list[str] = []
    found = search._index._found

    def noted(number: int, month: str, query: str, *values: object) -> list[Any]:
        if "ORDER BY" in query:
            read.append(month)
        return found(number, month, query, *values)

    monkeypatch.setattr(search._index, "_found", noted)
    assert len(urls(search, "слово", 6, by_time=False)) == 6
    assert read == ["2026-12", "2026-11"]
    hits = search.find("слово", limit=100, by_time=False)
    groups = [hits[start : start + 6] for start in range(0, 36, 6)]
    months = [{hit.article.canonical_url[-9:-2] for hit in group} for group in groups]
    assert months == [{f"2026-{last:02}", f"2026-{last - 1:02}"} for last in range(12, 0, -2)]
    scores = [[hit.score for hit in group] for group in groups]
    assert scores == [sorted(some, reverse=True) for some in scores]
    pages = [urls(search, "слово", 5, skip=skip, by_time=False) for skip in range(0, 36, 5)]
    assert [url for page in pages for url in page] == [hit.article.canonical_url for hit in hits]


@pytest.mark.parametrize("seed", range(3))
def test_files_with_few_matches_are_ranked_like_files_with_many(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(index, "FILE_SIZE", 40)
    monkeypatch.setattr(following, "AT_ONCE", 20)
    monkeypatch.setattr(following, "IN_BULK", 1)
    for article in sorted(make_articles(seed, 300), key=first_moment):
        library.store(article)
    search.follow()
    assert len(search._index.months.names(1)) > 4

    def scores(query: str, few: int) -> dict[str, float]:
        monkeypatch.setattr(index, "FEW", few)
        found = search.find(query, limit=1000, by_time=False)
        return {hit.article.canonical_url: hit.score for hit in found}

    words = ("w0", "w25", "w30 w12", "w0 w20", "w0 OR w20", '"w0 w0 w0"', "w18 -w0", "w18 -w3")
    for query in [
        f"{one}{end}" for one in words for end in ("", " site:site1.org", " lang:en since:1970-01-03")
    ]:
        # words that most articles have add less than 0.0001
        assert scores(query, few=1_000_000) == pytest.approx(scores(query, few=0), abs=1e-4), query


def first_moment(article: Article) -> datetime:
    assert article.published_at is not None
    return article.published_at


def test_a_frequent_word_is_counted_in_one_file_only(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        month = f"2026-{number // 10 + 1:02}"
        site = "rare.org" if number % 10 == 0 else "news.org"
        library.store(replace(of_month(str(number), month), source=site))
    search.follow()
    statements: list[str] = []
    months = search._index.months
    for name in months.names(1):
        file = months.opened(1, name)
        assert file is not None
        file.set_trace_callback(statements.append)
    word = stems("слово")[0]
    assert len(urls(search, "слово site:rare.org", by_time=False)) == 6
    ranked = [one.partition("IN (SELECT")[0] for one in statements if "bm25" in one]
    assert [word in one for one in ranked] == [True, *[False] * 5]
    assert len([one for one in statements if "count(*) FROM words" in one and word in one]) == 1


def test_a_year_is_moved_and_dropped(search: ArticleSearch, library: MemoryLibrary, tmp_path: Path) -> None:
    for month in ("2023-12", "2024-01", "2024-11", "2025-01"):
        library.store(of_month(month, month))
    search.follow()
    every = urls(search, "слово")
    (tmp_path / "slow").mkdir()
    with closing(ArticleSearch(tmp_path / "search.db", library)) as other:
        assert urls(other, "слово") == every
        assert search.months_of("202") == []
        assert search.months_of("2024-01") == ["2024-01"]
        moved = search.months_of("2024")
        assert search.change_months(moved, tmp_path / "slow")
        assert len(list((tmp_path / "slow").glob("*.db"))) == len(moved) == 2
        library.store(of_month("2024-01", "2024-01", "Иное."))
        library.store(of_month("new", "2024-11"))
        assert len(urls(other, "слово")) == len(every)
        assert urls(search, "иное") == urls(other, "иное") == ["https://example.org/2024-01"]
        assert search.change_months(search.months_of("2024"), None)
        assert urls(other, "слово") == urls(search, "слово") == [every[0], every[-1]]
        assert not list((tmp_path / "slow").iterdir())
        assert other.counts("слово").total == 2
        library.store(of_month("late", "2024-11"))
        assert len(urls(other, "слово")) == len(urls(search, "слово")) == 3


def test_a_process_that_dies_between_the_files_leaves_no_rows(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for month in ("2024-01", "2024-02"):
        library.store(of_month(month, month))
    search.follow()
    library.store(of_month("2024-01", "2024-03", "Иное слово."))
    library.store(of_month("new", "2024-02"))
    months = search._index.months
    write, left = months.write, [1]

    def killed(*given: Any) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        write(*given)

    monkeypatch.setattr(months, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        search.follow()
    monkeypatch.undo()
    library.remove("https://example.org/new")  # the next process reads other changes
    library.store(of_month("2024-01", "2024-04", "Иное слово."))
    with closing(ArticleSearch(tmp_path / "search.db", library)) as again:
        again.follow()
        assert urls(again, "слово") == ["https://example.org/2024-01", "https://example.org/2024-02"]
        assert again.counts("слово").total == 2
        rows = [row for name in again._index.months.names(1) for row in again._index.months.rows(1, name)]
        assert len(rows) == 2


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("in the", ['"¦in¦the"']),  # the pair alone
        ("end of the day", ['"end of the day"', '"¦end¦of"', '"¦of¦the"', '"¦the¦day"']),
        ("bridge of the river", ['"bridg of the river"', '"¦of¦the"']),
        ("new bridge", ['"new bridg"']),
    ],
)
def test_a_phrase_of_short_words_is_searched_by_its_pairs(phrase: str, words: list[str]) -> None:
    assert expression_of(Term(phrase), [""]) == f"(({' AND '.join(words)}))"


def test_pairs_are_adjacent_words_of_one_text(
    search: ArticleSearch, library: MemoryLibrary, tmp_path: Path
) -> None:
    texts = {"near": "He is at the sea.", "apart": "At noon the sea.", "mixed": "The new road at sea."}
    for name, text in texts.items():
        library.store(replace(make_article(name, text), title="On the road", authors=["At The"]))
    assert [url for url in urls(search, '"at the"') if "near" not in url] == []
    assert len(urls(search, '"on the"')) == len(urls(search, 'title:"on the"')) == 3
    assert urls(search, '"the at"') == urls(search, 'title:"at the"') == urls(search, '"road at the"') == []
    assert len(urls(search, 'author:"at the"')) == 3
    assert "¦at¦the" in words_in_file(next((tmp_path / "search").rglob("*.db")))


def test_an_index_is_built_in_larger_batches_than_a_search_waits_for(
    search: ArticleSearch, library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    changes_since = library.changes_since

    def counted(cursor: str = "", limit: int = 500) -> Any:
        asked.append(limit)
        return changes_since(cursor, limit)

    monkeypatch.setattr(library, "changes_since", counted)
    library.store(make_article("1", "Слово."))
    assert search.follow(60.0)
    assert set(asked) == {500}
    search.follow()
    assert asked[-1] == 2000
