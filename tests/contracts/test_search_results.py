"""The contract of every storage: :mod:`newsbot.apps.monitor.results`, results of searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

from newsbot.apps.monitor.results import MAX_CONTEXT, Searches, SearchResult, SearchSummary, searches_of
from newsbot.apps.search.phrases import MAX_POSITIONS, Position
from newsbot.urls import fingerprint
from tests import warm
from tests.contracts.storage_backends import Place

HERE = Position(start=120, end=125, line=4, before="у моста ", found="через", after=" реку")


@pytest.fixture
def found(place: Place) -> Iterator[Searches]:
    storage = place.open()
    yield searches_of(storage)
    storage.close()


def result(path: str = "a", text: str = "через", **fields: Any) -> SearchResult:
    defaults: dict[str, Any] = {
        "search": "bridges",
        "text": text,
        "url": f"https://example.org/{path}",
        "source": "example.org",
        "looked_at": 100.5,
        "positions": (HERE,),
        "hits": 1,
    }
    return SearchResult(**defaults | fields)


def kept(found: Searches, search: str = "bridges", **which: str) -> list[SearchResult]:
    return sorted(found.results(search, **which), key=lambda one: (one.url, one.text))


def test_a_result_is_returned_unchanged(found: Searches) -> None:
    one = result(regex=True, positions=(HERE, replace(HERE, start=300, end=305, line=9)), hits=2)
    found.save([one])
    assert kept(found) == [one]
    assert kept(found, "другой") == []
    found.save([])


def test_saving_results_is_idempotent_and_the_later_visit_wins(found: Searches) -> None:
    found.save([result(), result()])
    found.save([result()])
    later = result(looked_at=200.0, positions=(replace(HERE, start=7, end=12, line=1),))
    found.save([later])
    found.save([result(), result("b")])
    assert kept(found) == [later, result("b")]


def test_forms_of_a_url_share_one_record(found: Searches) -> None:
    found.save([result(url="https://example.org/a")])
    again = result(url="http://www.example.org/a", looked_at=101.0)
    found.save([again])
    assert kept(found) == [again]


def test_a_result_is_removed_when_its_text_is_no_longer_on_the_page(found: Searches) -> None:
    found.save([result(), result("b")])
    found.save([result(looked_at=99.0, positions=(), hits=0)])
    assert len(kept(found)) == 2, "an earlier result must not replace a later one"
    found.save([result(looked_at=101.0, positions=(), hits=0)])
    found.save([result("never", positions=(), hits=0)])
    assert kept(found) == [result("b")]


def test_results_of_several_texts_searches_and_sites_are_separate(found: Searches) -> None:
    other_site = result(url="https://other.org/a", source="other.org")
    other_text = result(text="мост")
    other_search = result(search="rivers")
    found.save([result(), other_text, other_site, other_search])
    assert kept(found) == [other_text, result(), other_site]
    assert kept(found, text="мост") == [other_text]
    assert kept(found, site="other.org") == [other_site]
    assert kept(found, text="мост", site="other.org") == []
    assert kept(found, "rivers") == [other_search]


def test_stored_positions_are_bounded_and_all_hits_are_counted(found: Searches) -> None:
    long = replace(HERE, before="б" * 999 + "!", found="н" * 999, after="?" + "п" * 999)
    found.save([result(positions=(long,) * (MAX_POSITIONS + 5), hits=0)])
    (one,) = kept(found)
    assert (len(one.positions), one.hits) == (MAX_POSITIONS, MAX_POSITIONS + 5)
    first = one.positions[0]
    assert (len(first.before), len(first.found), len(first.after)) == (MAX_CONTEXT,) * 3
    assert (first.before[-1], first.after[0]) == ("!", "?")


def test_data_from_sites_is_kept_or_sanitized(found: Searches) -> None:
    odd = replace(HERE, before="zero \0 and half \ud83d ", found="$where {a.b}", after="\n")
    found.save([result(text="a.b$\0\ud83d", positions=(odd,))])
    (one,) = kept(found, text="a.b$\0\ud83d")
    assert one.text == "a.b$\0?"
    assert one.positions[0] == replace(odd, before="zero \0 and half ? ")


def test_results_can_be_streamed_while_results_are_saved(found: Searches) -> None:
    found.save([result(str(n)) for n in range(450)])
    seen = []
    for one in found.results("bridges"):
        seen.append(one.url)
        if len(seen) % 100 == 1:
            found.save([replace(one, looked_at=500.0)])
    assert len(seen) == len(set(seen)) == 450


def test_searches_are_listed_and_removed(found: Searches) -> None:
    found.save([result(hits=3), result(text="мост", looked_at=90.0), result("b")])
    found.save([result(search="rivers", looked_at=300.0)])
    assert found.all() == [
        SearchSummary(search="rivers", pages=1, hits=1, first=300.0, last=300.0),
        SearchSummary(search="bridges", pages=2, hits=5, first=90.0, last=100.5),
    ]
    assert found.forget(pages=[fingerprint("https://example.org/unknown")]) == found.forget(pages=[]) == 0
    assert found.forget("bridges") == 3
    assert found.forget("bridges") == 0
    assert kept(found) == []
    assert [one.search for one in found.all()] == ["rivers"]


def _save_at_once(place: Place, barrier: Barrier, number: int) -> None:
    storage = place.open()
    try:
        for turn in range(20):
            barrier.wait(60)
            searches_of(storage).save([result(str(turn), looked_at=float(number), hits=number)])
    finally:
        storage.close()


def test_concurrent_processes_keep_the_latest_results_of_a_page_once(place: Place) -> None:
    place.open().close()
    context = warm.context()
    barrier = context.Barrier(3)
    workers = [context.Process(target=_save_at_once, args=(place, barrier, n)) for n in (1, 2, 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    storage = place.open()
    assert [(one.looked_at, one.hits) for one in searches_of(storage).results("bridges")] == [(3.0, 3)] * 20
    storage.close()


def test_results_are_removed_by_page(found: Searches) -> None:
    found.save([result("a"), result("a", search="rivers"), result("b")])
    assert found.forget(pages=[fingerprint("https://example.org/a")]) == 2
    assert [one.url for one in found.records()] == ["https://example.org/b"]
