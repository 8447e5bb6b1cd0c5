"""The SQLite frontier: query plans, errors of the file, counters."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from newsbot.connections import sqlite as sqlitefile
from newsbot.errors import DataError, DataUnavailable, SchemaError
from newsbot.frontier.base import Lease
from newsbot.frontier.sqlite import entries as sqlite_entries
from newsbot.frontier.sqlite import frontier as sqlite
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry

MODULES = (sqlite, sqlite_entries)
STATEMENTS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": text
    for module in MODULES
    for name, text in vars(module).items()
    if isinstance(text, str)
    and text.strip().startswith(("SELECT", "UPDATE", "INSERT"))
    and not text.strip().endswith("IN")  # completed by select_in()
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "newsbot.db"


def test_the_statements_are_found() -> None:
    assert len(STATEMENTS) > 20


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_no_statement_reads_all_urls(path: Path, name: str) -> None:
    frontier = SqliteFrontier(path)
    statement = STATEMENTS[name]
    names = "now ahead horizon batch state moved fingerprint token at data least most fetched"
    values: Any = dict.fromkeys(names.split(), 0)
    if "?" in statement:
        values = (0,) * statement.count("?")
    plan = [row["detail"] for row in frontier._db.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    frontier.close()
    scans = [step for step in plan if step.startswith("SCAN frontier_urls")]
    assert [step for step in scans if "INDEX frontier_urls_ready" not in step] == []


def test_leases_are_ordered_by_an_index(path: Path) -> None:
    frontier = SqliteFrontier(path)
    for statement, values in (
        (sqlite._BEST_OF_HOST, ("h", 1, 0, 1, 0)),
        (sqlite._HOSTS_BY_TURN, (0,)),
    ):
        plan = [row["detail"] for row in frontier._db.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
        assert not [step for step in plan if "TEMP B-TREE" in step]
    frontier.close()


CALLS: dict[str, Callable[[SqliteFrontier], object]] = {
    "add": lambda frontier: frontier.add([make_entry("new")]),
    "mark_done": lambda frontier: frontier.mark_done([make_entry("new")], None),
    "lease": lambda frontier: frontier.lease("o", 1, horizon=0, ttl=1),
    "release": lambda frontier: frontier.release("o"),
    "resume": lambda frontier: frontier.resume("o", [], 1),
    "set_politeness": lambda frontier: frontier.set_politeness("h", delay=1, concurrency=1),
    "take_turn": lambda frontier: frontier.take_turn("h"),
    "back_off": lambda frontier: frontier.back_off("h", 1),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_locked_file_is_a_data_error_and_works_again_afterwards(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr(sqlitefile, "BUSY_SECONDS", 0.01)
    frontier = SqliteFrontier(path)
    frontier.add([make_entry("old")])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DataUnavailable, match="locked by another program"):
        CALLS[call](frontier)
    assert frontier.add([make_entry("old")])[0] == "known", "known links need no lock"
    assert frontier.counts()["pending"] == 1
    assert frontier.outlook(horizon=0).pending == 1
    other.execute("ROLLBACK")
    other.close()
    CALLS[call](frontier)
    frontier.close()


def test_a_closed_frontier_is_a_data_error(path: Path) -> None:
    frontier = SqliteFrontier(path)
    frontier.close()
    with pytest.raises(DataError):
        frontier.counts()


def test_data_of_a_newer_newsbot_is_refused(path: Path) -> None:
    SqliteFrontier(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE newsbot_schema SET version = 99 WHERE component = 'frontier'")
    connection.close()
    with pytest.raises(SchemaError, match="frontier was written by a newer newsbot"):
        SqliteFrontier(path)


def test_a_failed_batch_changes_no_data(path: Path) -> None:
    frontier = SqliteFrontier(path)
    broken = make_entry("b", due=float("nan"))
    with pytest.raises(DataError):
        frontier.add([make_entry("a"), broken])
    assert frontier.counts() == {"pending": 0, "leased": 0, "done": 0, "aside": 0, "hosts": 0}
    assert frontier.known([key_of("a")]) == {}
    frontier.close()


def test_the_counters_match_the_entries(path: Path) -> None:
    clock = FakeClock()
    frontier = SqliteFrontier(path, clock=clock)
    frontier.set_politeness("h0", delay=0, concurrency=5)
    frontier.add([make_entry(str(n), host=f"h{n % 2}", due=clock.now * (n % 3)) for n in range(30)])
    leases = frontier.lease("o", 6, horizon=clock.now, ttl=10)
    frontier.ack(leases[0], next_due=clock.now + 1)
    frontier.nack(leases[1], delay=5)
    frontier.nack(leases[2], delay=5, aside=True)
    clock.advance(7)
    frontier.lease("o", 1, horizon=clock.now, ttl=10)
    db = frontier._db
    assert dict(db.execute("SELECT state, urls FROM frontier_totals WHERE urls > 0").fetchall()) == dict(
        db.execute("SELECT state, count(*) FROM frontier_urls GROUP BY state").fetchall()
    )
    truth = """
        SELECT h.host, sum(u.state = 'ready'), sum(u.state = 'leased') FROM frontier_urls u
        JOIN frontier_hosts h ON h.id = u.host GROUP BY h.id ORDER BY h.id
    """
    kept = "SELECT host, ready, leased FROM frontier_hosts ORDER BY id"
    assert [tuple(row) for row in db.execute(kept)] == [tuple(row) for row in db.execute(truth)]
    frontier.close()


def test_a_clock_that_was_a_month_ahead_does_not_delay_entries_for_a_month(path: Path) -> None:
    """Leases, delays and due times that were set then end as if the clock had been correct."""
    clock = FakeClock()
    frontier, right, month = SqliteFrontier(path, clock=clock), clock(), 30 * 86400.0

    def leased() -> dict[str, Lease]:
        got = frontier.lease("w", 9, horizon=clock(), ttl=60.0)
        return {lease.entry.host: lease for lease in got}

    for host in ("done", "delayed", "leased", "early"):
        frontier.set_politeness(host, delay=1.0, concurrency=1)
        frontier.add([make_entry(host, host)])
    frontier.ack(leased()["early"], next_due=right + 2 * month)
    frontier.release("w")
    clock.now = right + month
    then = leased()
    frontier.ack(then["done"], next_due=clock() + 600.0)
    frontier.nack(then["delayed"], delay=60.0)

    clock.now = right + 10.0
    assert leased() == {}
    clock.now += 700.0
    assert set(leased()) == {"done", "delayed", "leased"}
    assert frontier.known([key_of("early")])[key_of("early")].next_due == right + 2 * month
    frontier.close()
