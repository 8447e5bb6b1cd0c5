"""Reading the data never blocks other requests: reads that take too long are aborted, and excess reads are
refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from newsbot.apps.web.readers import MAX_WAITING, Data, Memo, Readers
from newsbot.errors import DataError, DataUnavailable
from newsbot.storage.sqlite import SqliteStorage
from tests.builders import ManualClock
from tests.dashboards import settings_of, visiting

ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def endless(data: Data) -> None:
    """Read the embedded file endlessly, like a bad query."""
    storage = cast("SqliteStorage", data.storage)
    with storage.handle.reading() as database:
        database.execute(ENDLESS).fetchall()


def test_a_long_read_is_aborted_and_its_thread_continues(tmp_path: Path) -> None:
    async def whole() -> None:
        readers = Readers(settings_of(tmp_path), 1, "look")
        with pytest.raises(DataUnavailable, match="takes longer than 0 s; ask for less"):
            await readers.call(endless, seconds=0.3)
        assert await readers.call(lambda data: data.storage.articles.count(), seconds=60) == 0
        readers.close()

    asyncio.run(whole())


def test_closing_aborts_running_reads(tmp_path: Path) -> None:
    async def whole() -> None:
        readers = Readers(settings_of(tmp_path), 2, "look")
        begun = threading.Event()

        def work(data: Data) -> None:
            begun.set()
            endless(data)

        task = asyncio.ensure_future(readers.call(work, seconds=60))
        await asyncio.to_thread(begun.wait)
        await asyncio.sleep(0.2)
        await asyncio.to_thread(readers.close)
        with pytest.raises(DataError):
            await task

    asyncio.run(whole())


def test_a_read_behind_too_many_others_is_refused(tmp_path: Path) -> None:
    async def whole() -> None:
        readers = Readers(settings_of(tmp_path), 2, "look")
        free = threading.Event()
        tasks = [
            asyncio.ensure_future(readers.call(lambda _: free.wait(60), seconds=60))
            for _ in range(MAX_WAITING)
        ]
        await asyncio.sleep(0)
        with pytest.raises(DataUnavailable, match="too many requests at once"):
            await readers.call(lambda _: None)
        free.set()
        assert all(await asyncio.gather(*tasks))
        assert await readers.call(lambda _: 7) == 7
        readers.close()

    asyncio.run(whole())


def test_notices_are_accepted_while_the_dashboard_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from newsbot.apps.web.dashboard import articles

    free = threading.Event()
    monkeypatch.setattr(articles, "find", lambda *_given, **_more: free.wait(60))

    async def whole() -> None:
        async with visiting(settings_of(tmp_path), sensor_secret="secret") as visitor:
            looks = [asyncio.ensure_future(visitor.get("/api/articles")) for _ in range(12)]
            await asyncio.sleep(0.2)
            answer, _ = await visitor.post("/push/ping", {})
            assert answer.status == 200
            assert not any(look.done() for look in looks)
            free.set()
            await asyncio.gather(*looks)

    asyncio.run(whole())


class Counted:
    """An expensive figure; counts how often it was computed."""

    def __init__(self) -> None:
        self.times = 0
        self.fault: DataError | None = None

    def __call__(self, _data: Data) -> int:
        if self.fault is not None:
            raise self.fault
        self.times += 1
        return self.times


def remembering(tmp_path: Path, work: Callable[[Memo[int], Counted, ManualClock], Any]) -> None:
    async def whole() -> None:
        readers = Readers(settings_of(tmp_path), 1, "count")
        clock, counted = ManualClock(), Counted()
        memo = Memo(readers, counted, 10.0, patience=30.0, clock=clock)
        try:
            await work(memo, counted, clock)
        finally:
            readers.close()
            await memo.close()

    asyncio.run(whole())


def test_a_figure_is_computed_once_and_again_after_a_while(tmp_path: Path) -> None:
    async def work(memo: Memo[int], counted: Counted, clock: ManualClock) -> None:
        assert [(await memo.get()).value for _ in range(3)] == [1, 1, 1]
        clock.now += 11
        assert (await memo.get()).value == 1  # the old value; the new one is computed later
        await memo.refresh()
        assert (await memo.get()).value == 2
        clock.now += 100  # very old: the page waits for the new value
        known = await memo.get()
        assert (known.value, known.at) == (3, clock.now)
        memo.forget()
        assert (await memo.get()).value == 4

    remembering(tmp_path, work)


def test_a_figure_that_is_forgotten_during_its_computation_is_computed_again(tmp_path: Path) -> None:
    async def work(memo: Memo[int], counted: Counted, clock: ManualClock) -> None:
        running = memo.refresh()
        await asyncio.sleep(0)  # the computation begins
        memo.forget()
        await running
        assert (await memo.get()).value == 2

    remembering(tmp_path, work)


def test_a_figure_that_is_forgotten_before_it_is_returned_is_not_an_internal_fault(tmp_path: Path) -> None:
    async def work(memo: Memo[int], counted: Counted, clock: ManualClock) -> None:
        memo.refresh().add_done_callback(lambda _: memo.forget())
        with pytest.raises(DataUnavailable, match="try again"):
            await memo.get()

    remembering(tmp_path, work)


def test_the_last_figure_is_shown_while_the_data_is_unavailable(tmp_path: Path) -> None:
    async def work(memo: Memo[int], counted: Counted, clock: ManualClock) -> None:
        counted.fault = DataUnavailable("the disk is gone")
        with pytest.raises(DataUnavailable, match="the disk is gone"):
            await memo.get()
        counted.fault = None
        assert (await memo.get()).value == 1
        counted.fault = DataUnavailable("the disk is gone")
        clock.now += 1000
        assert (await memo.get()).value == 1

    remembering(tmp_path, work)
