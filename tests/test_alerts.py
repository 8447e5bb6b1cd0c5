"""Alerts: each problem is found, and is reported once, by one of the processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from newsbot.apps.alerts import rules as book
from newsbot.apps.alerts.extension import Options, OutputError, Watch, tell
from newsbot.apps.alerts.rules import (
    KEPT_HOURS,
    TOTALS,
    Alert,
    Limits,
    Measured,
    Message,
    Total,
    find,
    keep_totals,
    measure,
)
from newsbot.apps.operations.verdict import alarms
from newsbot.clock import system_clock
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind
from newsbot.recrawl.planning import DEAD_AFTER
from newsbot.recrawl.policies import Rhythm
from newsbot.sites.health import EXPECTED, FULL_QUEUE, Pages, expected_items, full_queues, is_silent
from newsbot.storage.base import SiteRecord, SourceRecord
from newsbot.storage.sqlite import SqliteStorage
from tests.builders import START, ManualClock

HOUR, DAY = 3600.0, 86400.0
SITE = "news.test"
MORNING = START // DAY * DAY + 6 * HOUR


def learned(items_an_hour: float = 4.0, *, hours: range = range(24), days: int = 28) -> dict[str, Any]:
    """Return the learned rhythm of a source that brings this many items in these hours of each day."""
    rhythm, rows = Rhythm(1), np.zeros(1, np.intp)
    for step in range(days * 24):
        since = MORNING - 6 * HOUR - (days * 24 - step) * HOUR
        new = items_an_hour if step % 24 in hours else 0.0
        rhythm.learn(rows, np.array([since]), np.array([since + HOUR]), np.array([new]))
    return rhythm.as_note(0)


def source(name: str = "feed", **fields: Any) -> SourceRecord:
    values: dict[str, Any] = {
        "url": f"https://{SITE}/{name}",
        "source": SITE,
        "kind": Kind.FEED,
        "new_links": 900,
        "last_poll": MORNING + 20 * HOUR,
        "last_new": MORNING + 20 * HOUR,
    }
    return SourceRecord(**values | fields)


def of(*records: SourceRecord, now: float = MORNING + 20 * HOUR, **fields: Any) -> Measured:
    sources: dict[str, list[SourceRecord]] = {}
    for record in records:
        record.silent = is_silent(record)
        sources.setdefault(record.source, []).append(record)
    return Measured(now=now, sources=sources, active=len(sources), **fields)


def found(measured: Measured, rule: str, **limits: Any) -> list[Alert]:
    return [one for one in find(measured, Limits(**limits)) if one.rule == rule]


def test_a_rule_that_fails_hides_no_other_alerts(caplog) -> None:
    def broken(_measured: Measured, _limits: Limits) -> Iterator[Alert]:
        yield Alert(rule="first", subject="s", what="w", cause="c", todo="t")
        raise ZeroDivisionError

    def good(_measured: Measured, _limits: Limits) -> Iterator[Alert]:
        yield Alert(rule="good", subject="s", what="w", cause="c", todo="t")

    alerts = find(of(), Limits(), {"broken": broken, "good": good})
    assert [one.rule for one in alerts] == ["first", "good"]
    assert "alert rule=broken failed" in caplog.text


ALWAYS, BY_DAY = learned(), learned(8.0, hours=range(6, 18))


# --- silence
def test_a_source_is_silent_by_its_own_rhythm() -> None:
    heard = MORNING + 12 * HOUR
    hushed = source(rhythm=ALWAYS, last_new=heard)
    (alert,) = found(of(hushed), "silent")
    assert (alert.subject, alert.since) == (SITE, heard)
    assert hushed.url in alert.what
    assert "usually there are 4.1 per hour" in alert.what
    assert SITE in alert.todo
    assert found(of(source(rhythm=ALWAYS, last_new=heard + 6 * HOUR)), "silent") == [], "not long enough yet"


def test_a_source_is_not_silent_at_night_but_by_day() -> None:
    evening = MORNING + 12 * HOUR  # 18:00, the last hour with items is over
    night = source(rhythm=BY_DAY, last_new=evening, last_poll=evening + 11 * HOUR)
    assert found(of(night), "silent") == []
    assert expected_items(night) < EXPECTED < 11 * 4, "with its mean rate it would count as silent"
    day = source(rhythm=BY_DAY, last_new=MORNING, last_poll=MORNING + 8 * HOUR)
    assert len(found(of(day), "silent")) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"rhythm": {}},
        {"rhythm": {"items": "many"}},
        {"new_links": 3},
        {"failures": 1, "failing_since": 1.0},
        {"last_new": None},
        {"last_poll": MORNING + 1 * HOUR},  # no poll since then: the source is not silent
    ],
)
def test_little_data_raises_no_alert(fields: dict[str, Any]) -> None:
    assert (
        found(of(source(**dict[str, Any]({"rhythm": ALWAYS, "last_new": MORNING} | fields))), "silent") == []
    )


def test_a_site_is_silent_when_most_of_its_items_are_missing() -> None:
    hushed = source("a", rhythm=ALWAYS, last_new=MORNING)
    busy = [source("b", rhythm=ALWAYS), source("c", rhythm=ALWAYS)]
    assert found(of(hushed, *busy), "silent") == []
    assert len(found(of(hushed, busy[0]), "silent")) == 1


# --- the other rules
def test_a_site_fails_when_none_of_its_sources_answers() -> None:
    down: dict[str, Any] = {"failures": 4, "failing_since": MORNING, "last_error": "dns"}
    (alert,) = found(of(source("a", **down), source("b", **down)), "failing")
    assert (alert.subject, alert.since) == (SITE, MORNING)
    assert "does not resolve" in alert.cause
    assert found(of(source("a", **down), source("b")), "failing") == []
    assert found(of(source("a", **down), source("b", **down | {"failures": 2})), "failing") == []
    refused = down | {"last_error": "http_403"}
    assert found(of(source("a", **refused)), "failing") == [], "another rule reports this"
    assert found(of(source("a", **down), now=MORNING + 60), "failing") == [], "it may be temporary"


def pages(*reasons: str) -> Pages:
    seen = Pages()
    for reason in reasons:
        seen.saw(reason)
    return seen


GOOD = ("",) * 80


def test_pages_that_are_no_longer_articles_are_reported_with_the_likely_cause() -> None:
    (alert,) = found(of(pages={SITE: pages(*GOOD, *["no_text"] * 40)}), "extraction")
    assert alert.what.startswith("articles in 0% of the last 40 pages")
    assert "layout" in alert.cause
    assert found(of(pages={SITE: pages(*GOOD)}), "extraction") == []


def test_a_session_that_has_ended_is_reported() -> None:
    (alert,) = found(
        of(pages={SITE: pages(*GOOD, *["session_ended", "login"] * 10, *["session_ended"] * 20)}),
        "extraction",
    )
    assert alert.cause == "the session of the site has ended (rule keys: cookies, auth)"


def refusing(domain: str, at: float = MORNING + 19 * HOUR) -> tuple[SiteRecord, Pages]:
    record = SiteRecord(source=domain, last_error="http_403", last_error_at=at)
    return record, pages(*GOOD, *["http_403", "", "http_429", "http_403"] * 10)


def test_refusals_are_one_alert_per_site_and_many_are_one_alert_for_all() -> None:
    names = [f"s{number}.test" for number in range(8)]
    record, seen = refusing(SITE)
    (alert,) = found(of(source(), sites={SITE: record}, pages={SITE: seen}), "refused")
    assert (alert.subject, alert.what.split()[0]) == (SITE, "75%")
    assert "NEWSBOT_CONTACT" in alert.todo
    assert found(of(sites={SITE: record}, pages={SITE: seen}), "extraction") == []
    old, seen = refusing(SITE, at=MORNING - 9 * DAY)
    assert found(of(sites={SITE: old}, pages={SITE: seen}), "refused") == []
    many = of(
        *(source(source=name) for name in names),
        sites={name: refusing(name)[0] for name in names},
        pages={name: refusing(name)[1] for name in names[:6]},
    )
    (storm,) = found(many, "refused")
    assert (storm.subject, storm.what.split(":")[0]) == ("crawl", "6 of 8 sites refuse the crawler")


def test_a_site_whose_feeds_are_all_refused_is_refusing() -> None:
    record = SiteRecord(source=SITE, last_error="http_403", last_error_at=MORNING + 19 * HOUR)
    polled = source(failures=3, failing_since=MORNING, last_error="http_403")
    assert len(found(of(polled, sites={SITE: record}), "refused")) == 1


def totals(*rows: tuple[float, float, float]) -> list[Total]:
    now = MORNING + 20 * HOUR
    return [Total(now - hours * HOUR, pages, articles) for hours, pages, articles in rows]


@pytest.mark.parametrize(
    ("rows", "number"),
    [
        (totals((48, 0, 0), (24, 1000, 900), (0, 1500, 1100)), 1),
        (totals((48, 0, 0), (24, 1000, 900), (0, 1500, 1300)), 0),
        (totals((48, 0, 0), (24, 1000, 900), (0, 1100, 900)), 0),  # too few pages
        (totals((2, 0, 0), (0, 900, 100)), 0),  # no earlier figures to compare with
        ([], 0),
    ],
)
def test_the_useful_share_of_all_sites_is_compared_with_the_previous_week(
    rows: list[Total], number: int
) -> None:
    alerts = found(of(totals=rows), "useful")
    assert len(alerts) == number
    if number:
        assert alerts[0].what.startswith(
            "40% of the pages of the last day contained an article, 90% in the week before"
        )


def test_late_polls_are_reported_with_the_active_workers() -> None:
    now = MORNING + 20 * HOUR
    late: dict[str, Any] = {"alive": 23, "late": 3, "first_due": now - 7 * HOUR}
    (alert,) = found(of(**late), "lag")
    assert alert.what.startswith("3 of 23 sources are more than 6 h late; the queue holds ")
    assert alert.cause == "no crawl is running"
    assert alert.since == now - HOUR
    (alert,) = found(of(**late, workers=2), "lag")
    assert "only 2 workers running" in alert.cause
    assert found(of(**late | {"alive": 31}), "lag") == []
    assert found(of(), "lag") == []
    assert find(of(**late), Limits(off=frozenset({"lag"}))) == []


def test_late_polls_are_measured(storage: SqliteStorage, frontier: SqliteFrontier) -> None:
    now = MORNING + 20 * HOUR
    dues = [now - 9 * HOUR, now - 7 * HOUR, now + 60, now + 90, None]
    storage.sources.save([source(str(number), next_due=due) for number, due in enumerate(dues)])
    storage.sources.save([source("dead", next_due=now - 30 * HOUR, failures=DEAD_AFTER)])

    def counts(lag: float) -> tuple[int, int, float | None]:
        measured = measure(storage, frontier, None, now, lag)
        return measured.late, measured.alive, measured.first_due

    assert counts(6 * HOUR) == (2, 4, now - 9 * HOUR)
    assert counts(8 * HOUR) == (1, 4, now - 9 * HOUR)
    assert counts(10 * HOUR) == (0, 0, None)


def test_a_disk_that_fills_up_is_reported() -> None:
    (alert,) = found(of(disk_free=100 * 2.0**20), "disk")
    assert alert.what.startswith("only 100 MiB are free")
    assert found(of(disk_free=100 * 2.0**20), "disk", disk=99.0) == []
    assert found(of(disk_free=None), "disk") == []


def test_a_site_with_a_full_queue_is_reported_and_shown(tmp_path: Path) -> None:
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as storage:
        storage.notes.save(FULL_QUEUE, SITE, {"at": system_clock() - 60, "waiting": 20_000})
        storage.notes.save(FULL_QUEUE, "old.test", {"at": system_clock() - 2 * HOUR, "waiting": 20_000})
        full = full_queues(storage.notes, system_clock())
        assert alarms(storage.notes).keys() == full.keys() == {SITE}
    (alert,) = found(of(full_queues=full), "queue")
    assert (alert.subject, alert.what.partition(" of")[0]) == (SITE, "20,000 pages")
    assert "NEWSBOT_QUEUE_PER_SITE" in alert.todo


# --- messages
def alert(subject: str = SITE, **fields: Any) -> Alert:
    words = {"rule": "silent", "what": "w", "cause": "c", "todo": "t"}
    return Alert(**{"subject": subject, **words, **fields})


@dataclass
class Recorder:
    """An output that records its messages, or fails."""

    name: str = "recorder"
    taken: list[tuple[str, str]] = field(default_factory=list)
    refuses: bool = False

    def send(self, messages: Sequence[Message]) -> None:
        if self.refuses:
            raise OutputError("not now")
        self.taken += [(one.event, one.alert.subject) for one in messages]


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as storage:
        yield storage


@pytest.fixture
def frontier(tmp_path: Path, clock: ManualClock) -> Iterator[SqliteFrontier]:
    with closing(SqliteFrontier(tmp_path / "newsbot.db", clock=clock)) as frontier:
        yield frontier


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


class Rounds:
    """Rounds of alerts of one process over real data. ``full`` simulates a full disk."""

    def __init__(
        self,
        storage: SqliteStorage,
        frontier: SqliteFrontier,
        clock: ManualClock,
        *outputs: Any,
        owner: str = "a",
    ) -> None:
        self.clock = clock
        self.storage = storage
        self.parts = (storage, frontier)
        self.outputs, self.owner, self.full = outputs, owner, False

    def once(self) -> list[str]:
        self.clock.now += 300
        self.watch = Watch(*self.parts, self.options(), owner=self.owner, clock=self.clock)
        deliveries = self.watch.look()
        faults = tell(deliveries)
        self.watch.note(deliveries)
        return faults

    def options(self) -> Options:
        limits = Limits(disk=float(2**50) if self.full else 0.0)
        return Options(
            outputs=self.outputs, limits=limits, every=300.0, folder=Path("/"), tagged=lambda _tag: ()
        )


def test_an_alert_and_its_end_are_reported_once_each(
    storage: SqliteStorage, frontier: SqliteFrontier, clock: ManualClock
) -> None:
    recorder = Recorder()
    rounds = Rounds(storage, frontier, clock, recorder)
    for full in (False, True, True, True, False, True, True, False, False, False, False):
        rounds.full = full
        assert rounds.once() == []
    assert recorder.taken == [("began", "disk"), ("over", "disk")], (
        "one round without the fault does not end the alert"
    )
    assert storage.notes.all(book.KIND) == {}
    rounds.full = True
    rounds.once()
    assert recorder.taken[2:] == [("began", "disk")]
    (entry,) = book.current(storage.notes)
    assert (entry.first, entry.alert.since) == (clock.now, clock.now)


def test_a_failed_output_gets_the_message_later_and_others_do_not_get_it_twice(
    storage: SqliteStorage, frontier: SqliteFrontier, clock: ManualClock
) -> None:
    good, bad = Recorder("good"), Recorder("bad", refuses=True)
    rounds = Rounds(storage, frontier, clock, good, bad)
    rounds.full = True
    assert rounds.once() == ["alerts: bad: not now; the alerts are sent again in the next round"]
    rounds.once()
    bad.refuses = False
    rounds.once()
    rounds.once()
    assert good.taken == bad.taken == [("began", "disk")]
    rounds.full, bad.refuses = False, True
    rounds.once()
    rounds.once()
    bad.refuses = False
    rounds.once()
    assert good.taken[1:] == bad.taken[1:] == [("over", "disk")]


def test_a_process_killed_while_sending_sends_again_instead_of_never(
    storage: SqliteStorage, frontier: SqliteFrontier, clock: ManualClock
) -> None:
    rounds = Rounds(storage, frontier, clock)
    rounds.full = True
    rounds.outputs = (Recorder(),)
    watch = Watch(storage, frontier, rounds.options(), owner="a", clock=clock)
    assert [len(one.messages) for one in watch.look()] == [1]
    rounds.once()
    assert rounds.outputs[0].taken == [("began", "disk")]


def test_one_process_sends_alerts_and_another_takes_over_when_it_ends(
    storage: SqliteStorage, frontier: SqliteFrontier, clock: ManualClock
) -> None:
    first, second = Recorder(), Recorder()
    a = Rounds(storage, frontier, clock, first, owner="a")
    b = Rounds(storage, frontier, clock, second, owner="b")
    a.once()
    a.full = b.full = True
    b.once()
    assert second.taken == []
    a.once()
    assert first.taken == [("began", "disk")]
    a.full = b.full = False
    for _ in range(6):  # a has stopped
        b.once()
    assert second.taken == [("over", "disk")]
    b.watch.leave()
    a.full = True
    a.once()
    assert first.taken[1:] == [("began", "disk")]


def test_a_lock_with_a_wrong_time_does_not_block_other_processes(storage: SqliteStorage) -> None:
    assert book.take_lock(storage.notes, "a", START + 10 * 365 * DAY, 900.0)
    assert book.take_lock(storage.notes, "b", START, 900.0)
    assert not book.take_lock(storage.notes, "a", START, 900.0)
    assert book.take_lock(storage.notes, "b", START + 5, 900.0)


def test_a_new_output_gets_no_end_of_an_alert_whose_begin_it_did_not_get(storage: SqliteStorage) -> None:
    entries = book.updated({}, [alert("a"), alert("b")], 100.0)
    book.note_told(entries, "log", book.messages_for("log", entries), 101.0)
    assert [one.alert.subject for one in book.messages_for("mail", entries)] == ["a", "b"]
    entries = book.updated(entries, [], 200.0)
    entries = book.updated(entries, [], 300.0)
    assert book.messages_for("mail", entries) == [], "this output did not report the beginning"
    assert {one.event for one in book.messages_for("log", entries)} == {"over"}


def test_a_damaged_note_is_made_again(storage: SqliteStorage) -> None:
    storage.notes.save(book.KIND, "silent/x", {"alert": {"rule": 3}})
    storage.notes.save(book.KIND, "silent/y", {"alert": {}, "first": "x"})
    assert book.entries(storage.notes) == {}
    book.write(storage.notes, storage.notes.all(book.KIND), book.updated({}, [alert("x")], 5.0), 5.0)
    assert set(storage.notes.all(book.KIND)) == {f"silent/{'x'}"}


def test_totals_are_kept_per_hour_and_bounded(
    storage: SqliteStorage, frontier: SqliteFrontier, clock: ManualClock, tmp_path: Path
) -> None:
    for step in range(2 * KEPT_HOURS + 50):
        storage.sites.add([SiteRecord(source=SITE, counters={"pages": 10.0, "article_pages": 9.0})])
        measured = measure(storage, frontier, tmp_path, clock(), HOUR)
        keep_totals(storage.notes, measured)
        clock.now += HOUR / 2
        if step == 3:
            assert len(storage.notes.all(TOTALS[0])[TOTALS[1]]["rows"]) == 2
    rows = storage.notes.all(TOTALS[0])[TOTALS[1]]["rows"]
    assert len(rows) == KEPT_HOURS
    assert rows[-1][1] == 10 * (2 * KEPT_HOURS + 49)
    assert measured.disk_free is not None
    assert measured.disk_free > 0
    storage.notes.save(*TOTALS, {"rows": [[1, "x"]]})
    assert len(measure(storage, frontier, tmp_path, clock(), HOUR).totals) == 1
