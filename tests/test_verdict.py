"""The verdict on the whole crawl: one function for the dashboard and the commands."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from newsbot import backends
from newsbot.apps.operations.verdict import Facts, Sign, State, in_words, judge, line_of
from newsbot.clock import utc
from newsbot.frontier.base import Watch, Worker
from newsbot.items import Kind
from newsbot.sites.statistics import MAX_KEPT, Run, begin_run, end_run, note_run, runs
from newsbot.storage.base import SiteRecord, SourceRecord
from newsbot.storage.sqlite import SqliteStorage
from tests.commandline import Place
from tests.dashboarddata import SITE, fill, make_article
from tests.dashboards import Visitor, settings_of, visit

NOW = 1_795_000_000.0


def run(**changes: Any) -> Run:
    fields = {"owner": "a:1:1", "mode": "once", "began": NOW - 600, "until": NOW + 60, "fetched": 4}
    return Run(**{**fields, **changes})


def ended(reason: str, **changes: Any) -> Run:
    return run(ended=NOW - 60, until=NOW - 60, reason=reason, **changes)


def facts(*some: Run, workers: list[Worker] | None = None, **more: Any) -> Facts:
    lag = more.pop("overdue_since", None)
    return Facts(now=NOW, watch=Watch(NOW, lag, workers or []), runs=some, pending=9, **more)


def source(site: str, error: str | None = None) -> SourceRecord:
    failed = {"failures": 4, "failing_since": NOW - 900, "last_error": error} if error else {}
    url = f"https://{site}/feed"
    return SourceRecord(url=url, source=site, kind=Kind.FEED, polls=5, last_poll=NOW, **failed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "state", "text"),
    [
        (facts(), State.IDLE, "nothing was crawled yet"),
        (facts(last_fetch=NOW - 60), State.IDLE, "no crawl is running"),
        (facts(ended("finished")), State.IDLE, "the one-off crawl finished"),
        (facts(ended("shutdown", mode="continuous")), State.IDLE, "the crawl was stopped"),
        (facts(ended("finished"), overdue_since=NOW - 90_000), State.IDLE, "the one-off crawl finished"),
        (facts(run(fetched=0)), State.STARTING, "no page was read yet"),
        # a worker that waits for the next due page holds no lease
        (facts(run(), sites=1), State.RUNNING, "1 site, 1 worker, 0 articles stored this hour"),
        (facts(workers=[Worker("b", 1, NOW + 9)], sites=2, articles=3), State.RUNNING, "2 sites, 1 worker"),
        (facts(run(until=NOW - 5)), State.BROKEN, "stopped without notice"),
        (facts(workers=[Worker("b", 1, NOW - 9)]), State.BROKEN, "1 worker stopped without notice"),
        (facts(ended("data_unavailable")), State.BROKEN, "its data could not be read"),
        (facts(ended("no_network", fault="check the proxy")), State.UNREACHABLE, "check the proxy"),
    ],
)
def test_the_state_is_named_with_its_reason(given: Facts, state: State, text: str) -> None:
    found = judge(given)
    assert found.state is state
    assert text in found.text
    assert found.signs == []


def test_a_one_off_crawl_that_finished_says_when() -> None:
    found = judge(facts(ended("finished")))
    assert found.since == utc(NOW - 60)
    assert line_of(found, NOW + 240) == "idle: the one-off crawl finished (5 min ago)"


def test_an_index_that_is_built_is_the_state_of_an_idle_crawl_and_a_sign_of_a_running_one() -> None:
    sign = Sign(text="the search index has 40 % of 10 articles", state=State.INDEXING)
    found = judge(facts(ended("finished"), signs=[sign]))
    assert (found.state, found.text, found.signs) == (State.INDEXING, sign.text, [])
    found = judge(facts(run(), signs=[sign]))
    assert (found.state, found.signs, found.needs_look) == (State.RUNNING, [sign], False)


def test_sites_that_all_fail_are_unreachable_and_some_are_a_sign() -> None:
    all_fail = {f"s{number}.test": [source(f"s{number}.test", "dns")] for number in range(54)}
    found = judge(facts(run(), sources=all_fail, sites=54))
    assert (found.state, found.is_bad) == (State.UNREACHABLE, True)
    assert found.text == "54 of 54 sites: the host name does not resolve"
    assert found.since == utc(NOW - 900)
    found = judge(facts(run(), sources=all_fail, sites=55, any_works=True))
    assert (found.state, found.needs_look) == (State.RUNNING, True)
    assert [one.text for one in found.signs] == ["feeds or sitemaps of 54 sites fail"]
    # a feed that has moved was reached
    moved = judge(facts(run(), sources={"a.test": [source("a.test", "http_404")]}, sites=1))
    assert moved.state is State.RUNNING


def test_sites_without_any_answer_are_unreachable_although_no_source_was_polled() -> None:
    record = SiteRecord(
        source="a.test", counters={"errors": 1}, last_error="robots_unreachable", last_error_at=NOW
    )
    found = judge(facts(ended("finished"), records={"a.test": record}, sites=3))
    assert found.state is State.UNREACHABLE
    assert found.text == "1 of 1 site (of 3 sites in all): the host cannot be reached"


def test_one_dead_worker_and_a_late_queue_are_signs() -> None:
    workers = [Worker("a", 1, NOW + 60), Worker("b", 1, NOW - 60)]
    dead, late = judge(facts(run(), workers=workers, overdue_since=NOW - 7200)).signs
    assert (dead.text, dead.since) == ("1 of 2 workers do not respond", utc(NOW - 60))
    assert late.since == utc(NOW - 7200)


def test_reasons_are_in_words() -> None:
    assert in_words("http_503") == "HTTP 503"
    assert in_words("feed_empty") == "feed empty"
    assert in_words("") == "the cause is not known"


def test_the_notes_of_old_crawls_are_deleted(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "newsbot.db")
    for number in range(MAX_KEPT + 5):
        one = run(owner=f"a:1:{number}", began=NOW + number, until=NOW + number + 60)
        begin_run(storage.notes, one)
        end_run(storage.notes, one, NOW + number + 0.5, "finished", "")
    note_run(storage.notes, run(owner="alive", began=NOW + 900))
    storage.notes.save("run", "damaged", {"owner": 1})
    found = runs(storage.notes)
    assert len(found) == MAX_KEPT + 1
    assert (found[0].owner, found[1].reason) == ("alive", "finished")
    storage.close()


def test_pages_and_commands_say_the_same(tmp_path: Path) -> None:
    place = Place(tmp_path)
    now = time.time()
    with place.storage() as storage:
        for site in ("a.test", "b.test"):
            storage.sources.save([source(site, "timeout")])
        begin_run(storage.notes, run(began=now - 60, until=now + 600))
    said = "2 of 2 sites"
    assert "unreachable: 2 of 2 sites" in place.run("sources").err
    assert "unreachable: 2 of 2 sites" in place.run("alerts").err
    assert place.run("sources", "--json").json["verdict"]["state"] == "unreachable"

    async def check(visitor: Visitor) -> None:
        for path in ("/", "/sources", "/crawl"):
            _, page = await visitor.get(path)
            assert "<strong>Unreachable:</strong>" in page
            assert said in page
            assert "none with problems" not in page
        assert json.loads((await visitor.get("/api/verdict"))[1])["state"] == "unreachable"

    visit({"NEWSBOT_DATA": str(place.data), "NEWSBOT_RULES": str(place.rules)}, check)


def test_a_crawl_that_reaches_no_site_leaves_a_note(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for number in range(3):
        (tmp_path / "rules" / f"n{number}.invalid.yaml").write_text(f"domain: n{number}.invalid\n")
    place.program("crawl", "news", "-a", "sites=n0.invalid,n1.invalid,n2.invalid")
    with place.storage() as storage:
        (one,) = runs(storage.notes)
    assert (one.reason, one.mode, one.fetched) == ("no_network", "once", 0)
    assert one.ended is not None
    assert "unreachable: 3 of 3 sites" in place.run("sources").err

    async def check(visitor: Visitor) -> None:
        _, page = await visitor.get("/sources")
        assert "3 sites with problems" in page
        assert page.count('<span class="badge bad">unreachable</span>') == 3

    visit({"NEWSBOT_DATA": str(place.data), "NEWSBOT_RULES": str(place.rules)}, check)


INTERNAL = ("lease", "aside", "unlikely_article", "priority", "alike", "p50", "p95", "robots_unreachable")


def test_no_internal_word_is_shown(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings, articles=3)

    async def check(visitor: Visitor) -> None:
        story = json.loads((await visitor.get("/api/stories"))[1])[0]["story"]
        for path in (
            "/",
            "/crawl",
            f"/sources/{SITE}",
            f"/stories/{story}",
            f"/why?url=https://{SITE}/about",
        ):
            _, page = await visitor.get(path)
            shown = re.sub(r"<aside|</aside>|<[^>]*>", " ", page.partition("<main")[2]).lower()
            assert [word for word in INTERNAL if word in shown] == [], path

    visit(settings, check)
    (tmp_path / "place").mkdir()
    place = Place(tmp_path / "place")
    text = place.run("why", "https://example.org/about-us").out
    assert [word for word in INTERNAL if word in text] == []


def test_the_same_story_elsewhere_lists_other_sites(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    storage = backends.open_storage(settings)
    for number, site in enumerate((SITE, SITE, "other.test")):
        url = f"https://{site}/{number}"
        fields = {"url": url, "canonical_url": url, "content_hash": url, "source": site, "story": "s1"}
        storage.articles.store(make_article(number, **fields))
    storage.close()

    async def check(visitor: Visitor) -> None:
        _, page = await visitor.get(f"/article?url=https%3A%2F%2F{SITE}%2F0")
        listed = page.partition("The same story elsewhere")[2].partition("The whole story")[0]
        assert "other.test" in listed
        assert f"{SITE}%2F1" not in listed

    visit(settings, check)


def test_texts_of_sites_have_the_direction_of_their_script(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    storage = backends.open_storage(settings)
    storage.articles.store(make_article(0, title="افتتاح الجسر", text="افتتح الجسر اليوم.\nحضر كثيرون."))
    storage.close()

    async def check(visitor: Visitor) -> None:
        _, page = await visitor.get("/")
        assert re.search(r'<h3 class="headline"[^>]* dir="auto"', page), re.findall("<h3[^>]*>", page)
        _, page = await visitor.get(f"/article?url=https%3A%2F%2F{SITE}%2F2026%2F11%2F20%2Fstory-0.html")
        assert '<h1 dir="auto">افتتاح الجسر</h1>' in page
        assert page.count('<p dir="auto">') == 2

    visit(settings, check)
