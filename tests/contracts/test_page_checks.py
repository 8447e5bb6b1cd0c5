"""The contract of every storage: :mod:`newsbot.apps.monitor.results`, page checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

from newsbot.apps.monitor.results import (
    MAX_CHECKS,
    MAX_HOPS,
    MAX_WORD,
    CheckedPage,
    Checks,
    PageCheck,
    checks_of,
)
from newsbot.urls import fingerprint
from tests import warm
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import make_page

SITE = "https://example.org/"


@pytest.fixture
def kept(place: Place) -> Iterator[Checks]:
    storage = place.open()
    yield checks_of(storage)
    storage.close()


def check(path: str = "a", at: float = 100.5, **fields: Any) -> PageCheck:
    defaults: dict[str, Any] = {
        "url": SITE + path,
        "source": "example.org",
        "at": at,
        "run": 100.0,
        "status": 200,
    }
    return PageCheck(**defaults | fields)


WHOLE = check(
    method="GET",
    status=404,
    fault="connection",
    size=5120,
    content_type="text/html; charset=utf-8",
    server="nginx",
    seconds=0.25,
    etag='W/"abc"',
    last_modified="Fri, 20 Nov 2026 08:00:00 GMT",
    hops=((301, SITE + "b"), (302, SITE + "c")),
    found_on=SITE,
)


def of(kept: Checks, path: str = "a") -> CheckedPage | None:
    key = fingerprint(SITE + path)
    return kept.get([key]).get(key)


def times(kept: Checks, path: str = "a") -> list[float]:
    page = of(kept, path)
    return [] if page is None else [one.at for one in page.checks]


def test_a_check_is_returned_unchanged(kept: Checks) -> None:
    kept.save([WHOLE])
    assert of(kept) == CheckedPage(url=WHOLE.url, source="example.org", checks=(WHOLE,))
    assert of(kept, "other") is None
    assert kept.get([]) == {}
    kept.save([])


def test_checks_are_sorted_by_time_without_duplicates(kept: Checks) -> None:
    kept.save([check(at=3.0), check(at=1.0), check("b", at=9.0)])
    kept.save([check(at=2.0), check(at=3.0)])
    kept.save([check(at=1.0)])
    assert times(kept) == [1.0, 2.0, 3.0]
    assert times(kept, "b") == [9.0]


def test_only_the_last_checks_are_kept(kept: Checks) -> None:
    for at in range(MAX_CHECKS + 5):
        kept.save([check(at=float(at))])
    kept.save([check(at=0.0)])
    assert times(kept) == [float(at) for at in range(5, MAX_CHECKS + 5)]


def test_forms_of_a_url_share_one_record(kept: Checks) -> None:
    kept.save([check(at=1.0)])
    kept.save([replace(check(at=2.0), url="http://www.example.org/a")])
    assert times(kept) == [1.0, 2.0]
    assert len(list(kept.iter())) == 1


def test_data_from_sites_is_bounded_and_sanitized(kept: Checks) -> None:
    odd = check(
        server="x" * 999,
        size=10**30,
        content_type="half \ud83d $where {a.b}\0",
        hops=tuple((301, f"{SITE}{n}") for n in range(99)),
    )
    kept.save([odd])
    page = of(kept)
    assert page is not None
    assert page.last.server == "x" * MAX_WORD
    assert page.last.size == (1 << 63) - 1
    assert page.last.content_type == "half ? $where {a.b}\0"
    assert len(page.last.hops) == MAX_HOPS


def test_checks_of_a_site_can_be_streamed_while_checks_are_saved(kept: Checks) -> None:
    kept.save([check(str(n)) for n in range(1200)])
    kept.save([replace(check(), url="https://other.org/a", source="other.org")])
    assert [page.source for page in kept.iter("other.org")] == ["other.org"]
    seen = []
    for page in kept.iter("example.org"):
        seen.append(page.url)
        if len(seen) % 300 == 1:
            kept.save([replace(page.last, at=500.0)])
    assert len(seen) == len(set(seen)) == 1200
    assert len(list(kept.iter())) == 1201


def test_pages_without_a_record_are_streamed_separately(place: Place) -> None:
    storage = place.open()
    kept = checks_of(storage)
    storage.pages.discover([make_page(str(n)) for n in range(0, 1200, 2)])
    kept.save([check(str(n)) for n in range(1200)])
    kept.save([replace(check(), url="https://other.org/a", source="other.org")])
    found = [page.url for page in kept.iter("example.org", unlisted=True)]
    assert sorted(found) == sorted(SITE + str(n) for n in range(1, 1200, 2))
    assert len(list(kept.iter(unlisted=True))) == 601
    assert [page.checks for page in kept.iter("other.org", unlisted=True)] == [
        (replace(check(), url="https://other.org/a", source="other.org"),)
    ]
    storage.close()


def test_checks_are_removed_by_site_or_by_page(kept: Checks) -> None:
    other = replace(check(), url="https://other.org/a", source="other.org")
    kept.save([check("a", at=1.0), check("a", at=5.0), check("b", at=2.0), check("c", at=3.0), other])
    pages = [fingerprint(SITE + path) for path in ("b", "c", "unknown")]
    assert kept.forget(pages=pages) == 2
    assert kept.forget(pages=pages) == kept.forget(pages=[]) == 0
    assert times(kept) == [1.0, 5.0]
    assert kept.forget(site="example.org") == 1
    assert [page.url for page in kept.iter()] == [other.url]
    assert kept.forget() == 1


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({}, "ok"),
        ({"status": 304}, "ok"),
        ({"hops": ((301, SITE),)}, "moved"),
        ({"status": 404}, "broken"),
        ({"status": 404, "hops": ((301, SITE),)}, "broken"),
        ({"status": 503}, "broken"),
        ({"status": 403}, "refused"),
        ({"status": None, "fault": "dns"}, "broken"),
        ({"status": None, "fault": "robots"}, "not asked"),
        ({"status": 302}, "broken"),
    ],
)
def test_verdicts(fields: dict[str, Any], verdict: str) -> None:
    assert check(**fields).verdict == verdict


def test_before_is_the_last_check_of_an_earlier_run_and_since_the_start_of_the_present_state() -> None:
    checks = (
        check(at=1.0, run=1.0),
        check(at=2.0, run=2.0, status=404),
        check(at=3.0, run=3.0, status=404),
        check(at=4.0, run=3.0, status=404),
    )
    page = CheckedPage(url=SITE, source="example.org", checks=checks)
    assert page.before == checks[1]
    assert page.since == 2.0
    assert CheckedPage(url=SITE, source="example.org", checks=checks[:1]).before is None


def _save_at_once(place: Place, barrier: Barrier, number: int) -> None:
    storage = place.open()
    try:
        for turn in range(20):
            barrier.wait(60)
            checks_of(storage).save([check(str(turn), at=float(number))])
    finally:
        storage.close()


def test_checks_of_one_page_by_several_processes_are_all_kept(place: Place) -> None:
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
    assert [times(checks_of(storage), str(turn)) for turn in range(20)] == [[1.0, 2.0, 3.0]] * 20
    storage.close()
