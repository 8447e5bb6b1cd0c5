"""If calls wait for a server in threads, an outage is reported once for all these calls."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from newsbot.crawl.backend_calls import Guarded, Outage
from newsbot.errors import DataUnavailable


class Server:
    """A backend whose calls wait until all of them are in progress."""

    def __init__(self, calls: int) -> None:
        self.together = threading.Barrier(calls, timeout=60)
        self.away = False
        self.threads: set[int] = set()

    def store(self, what: str) -> str:
        self.together.wait()
        self.threads.add(threading.get_ident())
        if self.away:
            raise DataUnavailable("server: away")
        return what


@pytest.fixture
def server() -> Server:
    return Server(3)


@pytest.fixture
def outage() -> Outage:
    return Outage(spread=lambda low, high: high)


async def call_all(server: Server, outage: Outage) -> list[Any]:
    guarded = Guarded(server, "storage", "server", outage, local=False)
    return await asyncio.gather(*(guarded.aside("store", what) for what in "abc"), return_exceptions=True)


def test_calls_wait_in_parallel(server: Server, outage: Outage) -> None:
    assert asyncio.run(call_all(server, outage)) == ["a", "b", "c"]
    assert threading.get_ident() not in server.threads
    assert not outage


def test_concurrent_calls_that_fail_start_one_pause(server: Server, outage: Outage) -> None:
    server.away = True
    answers = asyncio.run(call_all(server, outage))
    assert [type(one) for one in answers] == [DataUnavailable] * 3
    assert outage
    assert (outage.count, outage.noted) == (1, 1)
    with pytest.raises(DataUnavailable):
        outage.ask("server")


class Recovering:
    """A backend that is back. One call reports the outage after another call has seen the recovery."""

    def __init__(self) -> None:
        self.away = True
        self.asked = threading.Event()
        self.known = threading.Event()
        self.stored: list[str] = []

    def store(self, what: str) -> str:
        refused = self.away
        if what == "late" and refused:
            self.asked.set()
            assert self.known.wait(timeout=60)
        if refused:
            raise DataUnavailable("server: away")
        self.stored.append(what)
        return what


async def recover(server: Recovering, outage: Outage) -> str:
    guarded = Guarded(server, "storage", "server", outage, local=False)
    with pytest.raises(DataUnavailable):
        await guarded.aside("store", "first")
    outage.try_now()
    late = asyncio.create_task(outage.patiently_await(lambda: guarded.aside("store", "late")))
    await asyncio.to_thread(server.asked.wait, 60)
    server.away = False
    assert await guarded.aside("store", "second") == "second"
    assert not outage
    server.known.set()
    return str(await late)


def test_a_fault_from_before_the_recovery_is_not_a_new_outage_and_its_work_is_repeated(
    outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    server = Recovering()
    with caplog.at_level(logging.INFO, "newsbot.crawl.backend_calls"):
        assert asyncio.run(recover(server, outage)) == "late"
    assert server.stored == ["second", "late"]
    assert [message.split(" fault=")[0].split(" place=")[0] for message in caplog.messages] == [
        "data away",
        "data back",
    ]
    assert (outage.count, outage.noted) == (1, 1)
