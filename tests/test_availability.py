"""All parts of a crawl share an outage. It is reported once, calls are rarely retried, and it ends when the
failed call succeeds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from newsbot.crawl import backend_calls as module
from newsbot.crawl.backend_calls import CALM, FIRST_PAUSE, LONGEST_PAUSE, Guarded, Outage
from newsbot.errors import DataDamaged, DataError, DataFull, DataUnavailable, RecordBusy, RecordRefused
from tests.builders import ManualClock


class Backend:
    """Raises the given errors, and counts calls."""

    def __init__(self) -> None:
        self.fault: DataError | None = None
        self.calls: list[str] = []

    def _answer(self, name: str) -> str:
        self.calls.append(name)
        if self.fault is not None:
            raise self.fault
        return name

    def read(self) -> str:
        return self._answer("read")

    def write(self) -> str:
        return self._answer("write")

    def iter_pages(self) -> Iterator[str]:
        for _ in range(3):
            yield self._answer("page")

    def close(self) -> str:
        return self._answer("close")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0.0)


@pytest.fixture
def outage(clock: ManualClock) -> Outage:
    return Outage(clock, spread=lambda _, high: high)


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def part(backend: Backend, outage: Outage) -> Any:
    return Guarded(backend, "storage", "server", outage, local=False)


def away(part: Any, backend: Backend, call: str = "write", fault: DataError | None = None) -> None:
    backend.fault = fault or DataUnavailable("server: away")
    with pytest.raises(DataError):
        getattr(part, call)()


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{record.levelname} {record.getMessage()}" for record in caplog.records]


def test_successful_calls_pass_through(part: Any, outage: Outage) -> None:
    assert part.read() == "read"
    assert list(part.iter_pages()) == ["page"] * 3
    assert not outage
    assert outage.wait == 0


def test_no_call_is_sent_during_a_pause(
    part: Any, backend: Backend, outage: Outage, clock: ManualClock
) -> None:
    away(part, backend)
    assert outage.wait == FIRST_PAUSE
    for call in ("read", "write", "iter_pages"):
        with pytest.raises(DataUnavailable, match="server: away"):
            list(getattr(part, call)())
    assert backend.calls == ["write"]
    clock.now += FIRST_PAUSE
    with pytest.raises(DataUnavailable):
        part.read()
    with pytest.raises(DataUnavailable):
        part.write()
    assert backend.calls == ["write", "read"]


def test_pauses_double_up_to_a_limit_and_start_again_after_a_recovery(
    part: Any, backend: Backend, outage: Outage, clock: ManualClock
) -> None:
    pauses = []
    for _ in range(8):
        away(part, backend)
        pauses.append(outage.wait)
        clock.now += outage.wait
    assert pauses == [1, 2, 4, 8, 16, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    backend.fault = None
    part.write()
    away(part, backend)
    assert outage.wait == LONGEST_PAUSE, "this is not a recovery"
    clock.now += LONGEST_PAUSE
    backend.fault = None
    part.write()
    clock.now += LONGEST_PAUSE + 1
    away(part, backend)
    assert outage.wait == FIRST_PAUSE
    assert outage.count == 3


def test_pauses_are_spread(clock: ManualClock) -> None:
    bounds = []

    def spread(low: float, high: float) -> float:
        bounds.append((low, high))
        return low

    outage = Outage(clock, spread)
    outage.failed("server", "write", DataUnavailable("away"), began=0.0, for_good=False)
    assert bounds == [(0.5, 1.0)]
    assert outage.wait == FIRST_PAUSE / 2


def test_the_begin_and_the_end_of_an_outage_are_each_reported_once(
    part: Any, backend: Backend, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    away(part, backend)
    for fault in ("refused", "loading"):
        clock.now += LONGEST_PAUSE
        away(part, backend, fault=DataUnavailable(f"server: {fault}"))
    clock.now += LONGEST_PAUSE
    backend.fault = None
    part.write()
    part.write()
    assert messages(caplog) == [
        "ERROR data away fault=server: away; the crawl waits until the data are available again",
        "INFO data back place=server seconds=90",
    ]


def test_a_successful_call_of_another_operation_is_not_an_immediate_recovery(
    part: Any, backend: Backend, outage: Outage, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A full server still answers reads."""
    away(part, backend)
    for _ in range(4):
        clock.now += LONGEST_PAUSE
        backend.fault = None
        part.read()
        assert outage
        clock.now += CALM - 0.1
        part.read()
        away(part, backend)
    assert outage.count == len(messages(caplog)) == 1
    clock.now += LONGEST_PAUSE
    backend.fault = None
    part.read()
    clock.now += CALM
    part.read()
    assert not outage


def test_operations_fail_and_recover_separately(
    part: Any, backend: Backend, outage: Outage, clock: ManualClock
) -> None:
    other = Backend()
    elsewhere = Guarded(other, "frontier", "other", outage, local=False)
    away(part, backend)
    assert elsewhere.read() == "read", "operations that work are used"
    away(elsewhere, other)
    assert outage.wait == 2 * FIRST_PAUSE, "all operations share one pause"
    clock.now += 2 * FIRST_PAUSE
    other.fault = None
    elsewhere.write()
    assert outage
    backend.fault = None
    part.write()
    assert not outage


@pytest.mark.parametrize("fault", [RecordRefused("too large"), RecordBusy("another has it")])
def test_a_fault_of_one_record_is_not_an_outage(
    part: Any, backend: Backend, outage: Outage, fault: DataError
) -> None:
    away(part, backend, fault=fault)
    assert not outage
    assert outage.wait == 0


def test_closing_is_never_refused(part: Any, backend: Backend) -> None:
    away(part, backend)
    backend.fault = None
    assert part.close() == "close"


def test_a_stream_that_breaks_off_is_an_outage(
    part: Any, backend: Backend, outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STEP", 1)
    stream = part.iter_pages()
    assert next(stream) == "page"
    backend.fault = DataUnavailable("server: away")
    with pytest.raises(DataUnavailable):
        next(stream)
    assert outage


def test_after_a_fault_a_preparation_runs_before_the_first_call(
    part: Any, backend: Backend, outage: Outage, clock: ManualClock
) -> None:
    outage.on_return["server"] = lambda: backend.calls.append("resumed")
    part.read()
    away(part, backend)
    clock.now += LONGEST_PAUSE
    backend.fault = None
    part.read()
    part.read()
    part.write()
    assert backend.calls == ["read", "write", "resumed", "read", "read", "write"]


def test_a_preparation_that_succeeds_is_a_recovery(
    part: Any, backend: Backend, outage: Outage, clock: ManualClock
) -> None:
    outage.on_return["server"] = lambda: None
    away(part, backend)
    clock.now += LONGEST_PAUSE
    backend.fault = None
    part.read()
    assert not outage


def test_at_the_end_of_a_crawl_a_successful_call_is_a_recovery(
    part: Any, backend: Backend, outage: Outage, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    away(part, backend)
    outage.close()
    clock.now += LONGEST_PAUSE
    backend.fault = None
    part.read()
    outage.close()
    assert messages(caplog)[1:] == ["INFO data back place=server seconds=30"]


def test_a_preparation_that_fails_is_a_fault_too(
    part: Any, backend: Backend, outage: Outage, clock: ManualClock
) -> None:
    away(part, backend)
    faults = [DataUnavailable("server: still away")]

    def resume() -> None:
        if faults:
            raise faults.pop()

    outage.on_return["server"] = resume
    backend.fault = None
    clock.now += FIRST_PAUSE
    with pytest.raises(DataUnavailable, match="still away"):
        part.read()
    assert outage.wait == 2 * FIRST_PAUSE
    assert backend.calls == ["write"]


@pytest.mark.parametrize(("fault", "ends"), [(DataDamaged("file: damaged"), True), (DataFull("full"), False)])
def test_damaged_data_end_the_crawl_but_a_full_disk_does_not(
    backend: Backend, outage: Outage, fault: DataError, ends: bool, caplog: pytest.LogCaptureFixture
) -> None:
    given_up: list[str] = []
    outage.give_up = lambda: given_up.append("end")
    part = Guarded(backend, "storage", "file", outage, local=True)
    away(part, backend, fault=fault)
    outage.try_now()
    away(part, backend, fault=fault)
    assert given_up == ["end"] * ends
    (message,) = messages(caplog)
    assert ("the crawl waits" in message) is not ends


def test_a_crawl_that_ends_does_not_say_that_it_waits(
    part: Any, backend: Backend, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    outage.ending = lambda: True
    away(part, backend)
    assert messages(caplog) == ["ERROR data away fault=server: away"]


# --- waiting
def patiently(outage: Outage, work: Callable[[], str]) -> str:
    return asyncio.run(outage.patiently(work))


def test_work_is_repeated_until_the_data_is_available(
    part: Any, backend: Backend, outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.001)
    outage.clock = time.monotonic
    backend.fault = DataUnavailable("server: away")

    def work() -> str:
        if len(backend.calls) == 3:
            backend.fault = None
        answer: str = part.write()
        return answer

    assert patiently(outage, work) == "write"
    assert backend.calls == ["write"] * 4
    assert not outage


def test_work_waits_for_a_record_that_another_process_has_locked(
    part: Any, backend: Backend, outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_PAUSE", 0.001)
    backend.fault = RecordBusy("server: another has it")

    def work() -> str:
        if len(backend.calls) == 3:
            backend.fault = None
        answer: str = part.write()
        return answer

    assert patiently(outage, work) == "write"
    assert backend.calls == ["write"] * 4


@pytest.mark.parametrize("fault", [DataUnavailable("server: away"), RecordBusy("server: another has it")])
def test_work_does_not_wait_when_the_crawl_ends(
    part: Any, backend: Backend, outage: Outage, fault: DataError
) -> None:
    outage.ending = lambda: True
    backend.fault = fault
    with pytest.raises(type(fault)):
        patiently(outage, part.write)
    assert backend.calls == ["write"]


@pytest.mark.parametrize("fault", [RecordRefused("too large"), KeyError("a bug")])
def test_permanent_faults_are_raised(outage: Outage, fault: Exception) -> None:
    def work() -> str:
        raise fault

    with pytest.raises(type(fault)):
        patiently(outage, work)


def test_a_call_after_the_end_of_the_crawl_is_not_a_fault(
    part: Any, backend: Backend, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    async def end_meanwhile() -> None:
        storing = asyncio.ensure_future(part.aside("write"))
        await asyncio.sleep(0)  # the call is in progress
        outage.over = True
        backend.fault = DataError("server: Cannot use MongoClient after close")
        await asyncio.gather(storing, return_exceptions=True)
        assert outage.noted == 0
        with pytest.raises(DataUnavailable, match="the crawl has ended"):
            await outage.patiently(part.read)

    def slow_write() -> str:
        while backend.fault is None:
            time.sleep(0.001)
        return backend._answer("write")

    backend.write = slow_write  # type: ignore[method-assign]
    asyncio.run(end_meanwhile())
    assert backend.calls == ["write"]
    assert (outage.noted, outage.count, caplog.text) == (0, 0, "")
