"""Rules that change on disk while a crawl runs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from newsbot.pages.rules.load import PresentRules, RulesWatch
from testbed.mockserver import MockServer
from tests.crawls import World, article_html, feed_xml


def put(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.yaml").write_text(text)
    moment = time.time_ns() + put.calls * 1_000_000_000  # type: ignore[attr-defined]  # the times must differ
    put.calls += 1  # type: ignore[attr-defined]
    os.utime(folder / f"{name}.yaml", ns=(moment, moment))


put.calls = 1  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, "a.test", "domain: a.test\n")
    return tmp_path


def test_rules_are_read_again_only_if_a_file_changed(folder: Path) -> None:
    watch = RulesWatch(folder)
    assert watch.changed() is None
    put(folder, "a.test", "domain: a.test\ndelay: 7\n")
    rules = watch.changed()
    assert rules is not None
    assert rules.for_url("https://a.test/").delay == 7
    assert watch.changed() is None


def test_new_and_removed_files_are_noticed(folder: Path) -> None:
    watch = RulesWatch(folder)
    put(folder, "b.test", "domain: b.test\n")
    rules = watch.changed()
    assert rules is not None
    assert "b.test" in rules
    (folder / "b.test.yaml").unlink()
    rules = watch.changed()
    assert rules is not None
    assert "b.test" not in rules


def test_an_invalid_change_is_reported_once_with_its_line(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watch = RulesWatch(folder)
    put(folder, "a.test", "domain: a.test\nartcle: ^/x\n")
    assert watch.changed() is None
    assert "a.test.yaml:2: artcle: unknown key" in caplog.text
    assert "the old rules stay in use" in caplog.text
    caplog.clear()
    assert watch.changed() is None
    assert caplog.text == ""
    put(folder, "a.test", "domain: a.test\narticle: ^/x\n")
    assert watch.changed() is not None


def test_a_temporarily_missing_folder_is_ignored(folder: Path) -> None:
    watch = RulesWatch(folder)
    away = folder.with_name("away")
    folder.rename(away)
    assert watch.changed() is None
    away.rename(folder)
    assert watch.changed() is None


def test_a_folder_with_defaults_only_can_get_its_first_site(tmp_path: Path) -> None:
    put(tmp_path, "_defaults", "delay: 7\n")
    present = PresentRules(tmp_path)
    assert len(present.get()) == len(present.get()) == 0
    put(tmp_path, "a.test", "domain: a.test\n")
    assert "a.test" in present.get()
    (tmp_path / "a.test.yaml").unlink()
    assert "a.test" not in present.get()


def test_a_running_crawl_uses_a_new_rule_and_keeps_the_old_rules_on_errors(
    world: World, site: MockServer
) -> None:
    xml = {"Content-Type": "application/rss+xml"}
    for name in ("one", "two"):
        site.page(f"http://{name}.test/story/1", article_html(1 if name == "one" else 2))
        site.page(f"http://{name}.test/rss", feed_xml([f"http://{name}.test/story/1"]), headers=xml)
    world.rule("one.test", "domain: one.test\nfeeds: http://one.test/rss\n")
    process = world.start("-a", "mode=continuous", "-s", "NEWSBOT_RULES_RELOAD=0.2")
    try:
        wait_for(lambda: bool(site.requests("/story/1")), process)
        world.rule("bad.test", "domain: bad.test\nfeed: http://bad.test/rss\n")
        time.sleep(0.5)
        (world.rules / "bad.test.yaml").unlink()
        world.rule("two.test", "domain: two.test\nfeeds: http://two.test/rss\n")
        wait_for(lambda: len(site.requests("/story/1")) == 2, process)
        time.sleep(0.3)
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "bad.test.yaml:2: feed: unknown key" in err
    assert world.urls() == ["http://one.test/story/1", "http://two.test/story/1"]


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "timeout"
        time.sleep(0.05)
