"""The output of a crawl: lines in a pipe, a live display on a terminal, a table at the end."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from newsbot.apps.numbers import size
from newsbot.apps.progress.display import (
    COLUMNS,
    SHOWN_SITES,
    Figures,
    Progress,
    Summary,
    closing_lines,
    figures,
    line,
    log_lines_above,
    picture,
    site_rows,
    wants_live_display,
)

ROOT = Path(__file__).resolve().parent.parent

ENDLESS = 1000
"""Rounds of a crawl that will be stopped. It yields no items: Scrapy would wait forever for an item of
``start`` that is in the pipelines when the crawl is stopped."""
CRAWL = """
import asyncio, logging, sys
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess

class Idle(Spider):
    name = "idle"

    async def start(self):
        stats = self.crawler.stats
        for number in range(int(sys.argv[1])):
            stats.inc_value("newsbot/fetched/article")
            stats.inc_value("newsbot/articles/new")
            stats.inc_value("newsbot/errors/timeout")
            for what in ("fetched", "pages", "article_pages", "articles"):
                stats.inc_value(f"newsbot/site/example.org/{what}")
            logging.getLogger("idle").info("log line number=%d end", number)
            await asyncio.sleep(0.1)
            if int(sys.argv[1]) < 1000:
                yield {"number": number}

process = AsyncCrawlerProcess({
    "EXTENSIONS": {
        "newsbot.apps.progress.display.Progress": 500, "newsbot.apps.progress.display.Summary": 510,
        "scrapy.extensions.logstats.LogStats": None, "scrapy.extensions.telnet.TelnetConsole": None},
    "FEEDS": {"stdout:": {"format": "jsonl"}}, "LOG_LEVEL": "INFO",
    "NEWSBOT_PROGRESS": True, "NEWSBOT_PROGRESS_INTERVAL": 0.3, "NEWSBOT_DATA": "some/data",
    "REMOTE_CONTROL_ENABLED": False, "LOG_FORMATTER": "newsbot.extensions.logs.QuietLogFormatter",
})
process.crawl(Idle)
process.start()
"""


def start(tmp_path: Path, rounds: int, stderr: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CRAWL, str(rounds)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=stderr,
    )


def test_a_pipe_gets_lines_and_stdout_stays_clean(tmp_path: Path) -> None:
    out, err = start(tmp_path, 10, subprocess.PIPE).communicate(timeout=60)
    assert [json.loads(text)["number"] for text in out.splitlines()] == list(range(10))
    lines = err.decode().splitlines()
    shown = [text for text in lines if "progress fetched=" in text]
    assert len(shown) >= 3
    assert "fetched=10" in shown[-1]
    assert "useful=100%" in shown[-1]
    assert "(timeout 10)" in shown[-1]
    assert "\x1b" not in err.decode()
    header = next(number for number, text in enumerate(lines) if text.startswith("site"))
    assert re.fullmatch(r"example\.org +10 +10 +100 % +0 +0 +0", lines[header + 1])
    assert f"data: {tmp_path / 'some/data'}" in lines
    assert "Traceback" not in err.decode()


def test_ctrl_c_prints_the_last_progress_line_and_the_summary(tmp_path: Path) -> None:
    process = start(tmp_path, ENDLESS, subprocess.PIPE)
    assert process.stderr is not None
    for text in process.stderr:
        if b"progress fetched=" in text:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert b"progress fetched=" in err
    assert b"(shutdown)" in err
    assert b"to read them: scrapy search" in err


def read_all(terminal: int) -> str:
    data = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux returns EIO if the other side has closed
            break
        if not piece:
            break
        data += piece
    return data.decode()


@pytest.mark.parametrize("interrupt", [False, True])
def test_log_lines_do_not_damage_the_live_display_of_a_terminal(tmp_path: Path, interrupt: bool) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = start(tmp_path, ENDLESS if interrupt else 12, theirs)
    os.close(theirs)
    text = ""
    if interrupt:
        while "newsbot 0:00:01" not in text:
            text += os.read(ours, 65536).decode()
        process.send_signal(signal.SIGINT)
    text += read_all(ours)
    os.close(ours)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert text.count("newsbot 0:00:0") >= 3
    assert len(re.findall(r"log line number=\d+ end *\r?\n", text)) >= (5 if interrupt else 12)
    assert "\x1b[?25l" in text  # the cursor is hidden …
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # … and is shown again
    assert "to read them: scrapy search" in text[text.rindex("\x1b[?25h") :]
    assert "Traceback" not in text
    assert all(json.loads(row) for row in out.splitlines())


def test_the_streams_of_log_handlers_are_restored() -> None:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    other = logging.StreamHandler(StringIO())
    logging.root.addHandler(handler)
    logging.root.addHandler(other)
    try:
        with log_lines_above(Console(file=stream)):
            assert handler.stream is not stream
            logging.getLogger("x").error("a [red]line")
        assert handler.stream is stream
    finally:
        logging.root.removeHandler(handler)
        logging.root.removeHandler(other)
    assert stream.getvalue() == "a [red]line\n"
    assert other.stream.getvalue() == "a [red]line\n"


@pytest.mark.parametrize("extension", [Progress, Summary])
def test_switched_off(extension: Any) -> None:
    with pytest.raises(NotConfigured):
        extension.from_crawler(get_crawler(settings_dict={"NEWSBOT_PROGRESS": False}))


def test_an_invalid_interval_is_reported() -> None:
    settings = {"NEWSBOT_PROGRESS": True, "NEWSBOT_PROGRESS_INTERVAL": 0}
    with pytest.raises(NotConfigured, match="above 0"):
        Progress.from_crawler(get_crawler(settings_dict=settings))


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "feeds", "live"),
    [
        ("xterm", {}, True),
        ("xterm", {"out.jsonl": {"format": "jsonl"}}, True),
        ("xterm", {"stdout:": {"format": "jsonl"}}, False),
        ("dumb", {}, False),
    ],
)
def test_conditions_for_a_live_display(
    monkeypatch: pytest.MonkeyPatch, terminal: str, feeds: dict[str, Any], live: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", terminal)
    assert wants_live_display(Settings({"FEEDS": feeds})) is live


def test_no_live_display_in_a_pipe() -> None:
    assert wants_live_display(Settings({})) is False


def test_lines_without_stats() -> None:
    empty = Figures()
    assert line(empty, (0.0, 0.0)).startswith("progress fetched=0 (0/min) articles=0 (0/min) useful=- new=0")
    assert "errors 0" in picture(empty, (0.0, 0.0), 0.0).plain
    assert site_rows({}) == []
    assert closing_lines({}, "finished", 1.0, None)[-1] == "dry run: no articles were stored"


def test_an_idle_crawl_shows_what_it_waits_for() -> None:
    now = figures(
        {"newsbot/queue/waits_for": "the answer of xn--b1amnebsh.example", "newsbot/queue/pending": 3}
    )
    assert line(now, (0.0, 0.0)).endswith("queue=3 waits_for='the answer of новости.example'")
    assert picture(now, (0.0, 0.0), 0.0).plain.endswith("waits for: the answer of новости.example")
    assert "waits" not in line(Figures(), (0.0, 0.0)) + picture(Figures(), (0.0, 0.0), 0.0).plain


def test_the_table_of_many_sites_ends_with_a_row_for_the_rest_and_a_total() -> None:
    stats = {f"newsbot/site/s{number:03}.org/pages": 1 for number in range(SHOWN_SITES + 30)}
    rows = site_rows(stats)
    assert len(rows) == SHOWN_SITES + 2
    assert rows[-2][:2] == ("30 more", 30)
    assert rows[-1][:2] == (f"all {SHOWN_SITES + 30}", SHOWN_SITES + 30)
    assert all(len(row) == len(COLUMNS) for row in rows)


def test_the_last_lines_contain_the_reason_and_the_data_folder() -> None:
    lines = closing_lines({"newsbot/articles/new": 3, "newsbot/errors/dns": 1}, "shutdown", 65.0, "data: /d")
    assert lines[0] == "3 new articles, 0 updated, useful share -, 0 fetched in 0:01:05 (shutdown)"
    assert lines[1] == "errors: dns 1"
    assert lines[-1] == "data: /d"


def test_the_last_lines_of_a_trial_contain_no_data_folder() -> None:
    lines = closing_lines({"newsbot/articles/new": 3}, "finished", 1.0, "data: /trial", trial=True)
    assert len(lines) == 1
    assert "3 new articles" in lines[0]


def test_the_summary_contains_the_saved_traffic() -> None:
    stats = {
        "newsbot/bytes_saved/unchanged": 3_400_000,
        "newsbot/bytes_saved/compression": 12_340,
    }
    lines = closing_lines(stats, "finished", 1.0, None)
    assert "download saved: 3.4 MB (304 3.4 MB, compression 12.3 kB)" in lines
    assert not any("download saved" in line for line in closing_lines({}, "finished", 1.0, None))


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (123_456, "123 kB"), (5e13, "50.0 TB")],
)
def test_readable_sizes(count: float, text: str) -> None:
    assert size(count) == text
