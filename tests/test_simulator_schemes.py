"""Schemes of co-operation: orders of freshness and traffic that follow from their definitions."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from newsbot import __version__
from newsbot.apps.simulator.command import RunLog, listening
from newsbot.apps.simulator.model import (
    FREQUENCIES,
    History,
    make_changes,
    make_pages,
    make_queries,
    make_routes,
    pack,
    run_robots,
    run_sensor,
    stream,
)
from newsbot.apps.simulator.schemes import SCHEMES, Exchange, Shared, run_schemes
from newsbot.errors import ArgumentError, UserError
from tests.commandline import ROOT, Place

PAGES, TIME = 300, 120_000


def history(changes: float, seed: int, pages: int = PAGES) -> History:
    sizes = make_pages(pages, stream("sizes", seed))
    log = make_changes(sizes, TIME, changes, FREQUENCIES["published"], stream("changes", seed))
    return pack(sizes, log, TIME)


def schemes(
    *,
    changes: float = 4,
    queries: float = 20,
    seed: int = 3,
    sites: int = 5,
    interval: int = 2000,
    readers: int = 3,
) -> dict[str, Exchange]:
    asked = make_queries(PAGES, TIME, queries, stream("queries", seed))
    found = run_schemes(Shared(history(changes, seed), asked, TIME, seed, sites, interval, readers))
    return {one.scheme.name: one for one in found}


@pytest.fixture(scope="module", params=[(0.3, 3), (4, 4), (25, 5)], ids=["quiet", "usual", "busy"])
def found(request: pytest.FixtureRequest) -> dict[str, Exchange]:
    changes, seed = request.param
    return schemes(changes=changes, seed=seed)


def fresh(one: Exchange) -> float:
    return one.run.mean_freshness


@pytest.mark.parametrize(("name", "modified"), [("polling", False), ("head", True)])
def test_robots_are_those_of_the_experiment(name: str, modified: bool) -> None:
    one = schemes()[name]
    same = run_robots(history(4, 3), make_routes(PAGES, 1), TIME, stream("scheme", 3), modified=modified)
    assert (one.run.stale == same.stale).all()
    assert (one.run.traffic == same.traffic).all()
    assert (one.run.waits, one.run.wait_sum, one.run.found) == (same.waits, same.wait_sum, same.found)


def test_sensors_are_those_of_the_experiment() -> None:
    asked = make_queries(PAGES, TIME, 20, stream("queries", 3))
    same = run_sensor(history(4, 3), asked, TIME, stream("scheme", 3))
    assert (schemes()["sensor"].run.stale == same.stale).all()


def test_a_condition_saves_requests_and_a_difference_saves_bytes(found: dict[str, Exchange]) -> None:
    polling, head, conditional, delta = (found[one] for one in ("polling", "head", "conditional", "delta"))
    assert (conditional.run.stale == head.run.stale).all()
    assert (delta.run.stale == head.run.stale).all()
    assert conditional.requests == delta.requests == head.requests - head.run.downloads
    assert delta.run.sumsize < conditional.run.sumsize == head.run.sumsize < polling.run.sumsize


def test_shorter_lists_and_joined_answers_cost_less(found: dict[str, Exchange]) -> None:
    sitemap, changes, dump = (found[one] for one in ("sitemap", "changelist", "dump"))
    assert changes.run.sumsize < sitemap.run.sumsize
    assert dump.requests < changes.requests
    assert dump.requests == dump.run.cycles[0] * 5 or dump.requests - dump.run.cycles[0] * 5 < 5
    # each page of a list is loaded once, and only because it has changed
    for one in (sitemap, changes, dump):
        assert one.run.useful == pytest.approx(1.0)


def test_contents_arrive_before_notices_and_notices_before_hubs(found: dict[str, Exchange]) -> None:
    content, notice, hub = (found[one] for one in ("content", "notice", "hub"))
    assert content.run.mean_wait < notice.run.mean_wait < hub.run.mean_wait  # type: ignore[operator]
    assert (content.run.stale <= hub.run.stale).all()
    assert content.requests <= notice.requests
    assert fresh(notice) > max(fresh(found[one]) for one in ("sitemap", "changelist", "dump", "broker"))


def test_what_a_site_sends_to_several_search_engines() -> None:
    one, four = schemes(readers=1), schemes(readers=4)
    for name in SCHEMES:
        assert one[name].run.sumsize == four[name].run.sumsize
        times = four[name].site_bytes / one[name].site_bytes
        assert times == (1 if name == "hub" else pytest.approx(4))
    assert four["hub"].site_messages == one["hub"].site_messages < four["notice"].site_messages
    # with a broker, a site reports its changes once, and sends no lists
    assert four["broker"].site_bytes < four["changelist"].site_bytes


def test_a_broker_saves_the_lists_of_many_sites() -> None:
    few, many = schemes(sites=2), schemes(sites=50)
    assert many["broker"].requests == few["broker"].requests
    assert many["broker"].requests < many["changelist"].requests - 1000
    assert many["changelist"].requests > few["changelist"].requests


@pytest.mark.parametrize("name", ["sitemap", "changelist", "dump", "broker"])
def test_more_frequent_lists_are_fresher_and_cost_more(name: str) -> None:
    often, seldom = schemes(interval=500)[name], schemes(interval=8000)[name]
    assert fresh(often) > fresh(seldom)
    assert often.requests > seldom.requests
    assert often.run.mean_wait < seldom.run.mean_wait  # type: ignore[operator]


def test_only_sensors_depend_on_queries() -> None:
    rare, frequent = schemes(queries=2), schemes(queries=60)
    same = [one for one in SCHEMES if (rare[one].run.stale == frequent[one].run.stale).all()]
    assert same == [one for one in SCHEMES if one != "sensor"]
    assert fresh(rare["sensor"]) < fresh(frequent["sensor"]) < fresh(frequent["notice"])


def test_the_history_has_each_change_that_was_seen(found: dict[str, Exchange]) -> None:
    for name, one in found.items():
        if name == "sensor":
            continue
        log = one.history
        assert len(log["page"]) == one.run.waits, name
        assert (log["seen"] - log["changed"]).sum() == one.run.wait_sum, name
        assert (log["seen"] > log["changed"]).all() or name in ("polling", "head", "conditional", "delta")
        # the series is the number of pages between their change and its arrival, wherever it is known
        at = 10 * one.run.steps.fresh
        known = ((log["changed"] < at) & (log["seen"] >= at)).sum()
        assert known <= one.run.stale[10], name
        assert one.run.stale.min() >= 0, name


def test_the_command_writes_tables_histories_and_a_run_log(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--pages", "60", "--time", "20000", "--seed", "5", "--out", str(out))
    answer = Place(tmp_path).run("simulate", "--json", "schemes", *words)
    assert answer.code == 0, answer.err
    assert [one["scheme"] for one in answer.json["schemes"]] == list(SCHEMES)
    rows = pq.read_table(out / "schemes.parquet").to_pylist()
    assert rows == answer.json["schemes"]
    history = pq.read_table(out / "history.parquet")
    assert set(history.column_names) == {"scheme", "page", "changed", "seen"}
    assert set(history["scheme"].to_pylist()) == set(SCHEMES) - {"sensor"}
    log = pq.read_table(out / "run_log.parquet").to_pylist()
    assert [row["run"] for row in log] == list(SCHEMES)
    assert {(row["seed"], row["version"], row["module"]) for row in log} == {(5, __version__, "schemes")}
    assert (out / "run_log.csv").read_text().startswith('"time","module","run","seed","version","seconds"')
    assert (out / "report.html").exists()


@pytest.mark.parametrize("words", [("--pages", "5"), ("--time", "2000000000"), ("--listen", "ninety")])
def test_wrong_options_have_one_message(tmp_path: Path, words: tuple[str, ...]) -> None:
    answer = Place(tmp_path).run("simulate", "schemes", *words)
    assert answer.code == 2
    assert words[0] in answer.err
    assert "Traceback" not in answer.err


def test_the_docs_name_each_scheme() -> None:
    text = (ROOT / "docs/simulator.md").read_text(encoding="utf-8")
    for one in SCHEMES.values():
        assert re.search(
            rf"^\| `{one.name}` \| {re.escape(one.about)} \| {re.escape(one.web)} \|", text, re.M
        )


# --- control over HTTP


def ask(url: str, path: str, method: str = "GET", **headers: str) -> tuple[int, Any]:
    host = url.removeprefix("http://")
    connection = HTTPConnection(host, timeout=10)
    try:
        connection.request(
            method, path, headers={name.replace("_", "-"): one for name, one in headers.items()}
        )
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.fixture
def log() -> RunLog:
    return RunLog("compare", 5)


@pytest.fixture
def place(log: RunLog) -> Iterator[str]:
    with listening(log, "0", "") as url:
        yield url


def test_an_experiment_is_paused_read_and_continued(log: RunLog, place: str) -> None:
    log.ended("visits", 1, "newsbot")
    assert ask(place, "/pause", "POST")[1]["paused"]

    def work() -> None:
        for name in ("cyclic", "push"):
            log.ended("visits", 1, name)

    worker = threading.Thread(target=work)
    worker.start()
    while ask(place, "/")[1]["done"] < 2:
        time.sleep(0.01)
    # the second run has ended, and the third does not begin
    state = ask(place, "/")[1]
    assert (state["command"], state["total"], state["paused"], state["done"]) == ("compare", 5, True, 2)
    assert worker.is_alive()
    assert not ask(place, "/continue", "POST")[1]["paused"]
    worker.join(10)
    assert [row["run"] for row in ask(place, "/log")[1]] == ["newsbot", "cyclic", "push"]
    assert ask(place, "/stop", "POST")[0] == ask(place, "/etc")[0] == 404


def test_other_pages_may_not_ask(place: str) -> None:
    assert ask(place, "/pause", "POST", Origin="http://evil.example")[0] == 403
    assert ask(place, "/", Host="evil.example")[0] == 403
    assert ask(place, "/", Host="localhost:1")[0] == 200


def test_a_token_is_needed_if_it_is_set(log: RunLog) -> None:
    with listening(log, "127.0.0.1:0", "a long enough token") as url:
        assert ask(url, "/")[0] == 401
        assert ask(url, "/pause", "POST", Authorization="Bearer wrong")[0] == 401
        assert not log.state()["paused"]
        assert ask(url, "/", Authorization="Bearer a long enough token")[0] == 200


@pytest.mark.parametrize(("where", "token"), [("0.0.0.0:0", ""), ("127.0.0.1:0", "short")])
def test_other_machines_need_a_good_token(log: RunLog, where: str, token: str) -> None:
    with pytest.raises(UserError, match="NEWSBOT_WEB_TOKEN"), listening(log, where, token):
        pass


@pytest.mark.parametrize("where", ["", "x", "127.0.0.1:99999", "[::1]:80", "-1"])
def test_places_that_are_no_port(log: RunLog, where: str) -> None:
    with pytest.raises(ArgumentError, match="--listen"), listening(log, where, ""):
        pass


def test_a_taken_port_has_one_message(log: RunLog, place: str) -> None:
    port = place.rpartition(":")[2]
    with pytest.raises(UserError, match=f"--listen {port}"), listening(log, port, ""):
        pass
