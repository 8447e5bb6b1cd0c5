"""Log lines are JSON if this is configured, and they never contain a secret."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from newsbot.cli.log_lines import (
    MASK,
    JsonFormatter,
    SafeFormatter,
    event_of,
    redacted,
    secrets_of,
    shape_logs,
)
from tests.crawls import article_html, feed_xml

PASSWORD = "hunter2/öst"


def record(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    return logging.LogRecord("newsbot.x", logging.WARNING, "file.py", 1, message, arguments, None, **more)  # type: ignore[arg-type]


def logged(message: str, *arguments: object) -> dict[str, object]:
    found: dict[str, object] = json.loads(JsonFormatter().format(record(message, *arguments)))
    return found


def test_pairs_become_fields_with_their_types():
    line = logged("took back leases=%d of a worker that died owner=%s after %.1f s 100%%", 3, "host:1", 2.5)
    assert (line["leases"], line["owner"]) == (3, "host:1")
    assert line["event"] == "took_back_of_a_worker_that_died_after"
    assert line["message"] == "took back leases=3 of a worker that died owner=host:1 after 2.5 s 100%"
    assert (line["level"], line["logger"]) == ("warning", "newsbot.x")
    assert str(line["at"]).endswith("Z")


def test_values_with_equals_signs_and_line_ends_are_kept():
    line = logged(
        "stored url=%(url)s title=%(title)s", {"url": "https://a.test/?x=%d", "title": 'a=b\n"c" level=1'}
    )
    assert line["url"] == "https://a.test/?x=%d"
    assert line["title"] == 'a=b\n"c" level=1'
    assert line["level"] == "warning"
    assert logged("%s", "event=forged")["event"] == "message"
    assert logged("x level=%s", "high")["level_"] == "high"


def test_the_event_does_not_depend_on_the_values():
    assert event_of("not queued url=%s: %s") == "not_queued"
    assert event_of("%s") == "message"


@given(st.text(max_size=30), st.one_of(st.text(max_size=20), st.integers(), st.none()))
def test_every_line_is_one_line_of_json(text, value):
    line = JsonFormatter().format(record(text.replace("%", "%%") + " key=%s", value))
    assert "\n" not in line
    assert json.loads(line)["key"] == value


def settings(**more: object) -> Settings:
    chosen = Settings()
    chosen.setmodule("newsbot.settings", priority="project")
    chosen.setdict(more, priority="cmdline")
    return chosen


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_URL", "redis://user:hunter2%2F%C3%B6st@127.0.0.1:6379/0"),
        ("MONGO_URI", "mongodb://user:hunter2%2F%C3%B6st@a,b/newsbot?x=1"),
        ("NEWSBOT_SENSOR_SECRET", PASSWORD),
        ("NEWSBOT_SERVE_TOKEN", PASSWORD),
        ("MAIL_PASS", PASSWORD),
        ("HTTPS_PROXY", "http://user:hunter2%2F%C3%B6st@proxy:1"),
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_secrets_of_the_settings_are_not_logged(name, value, as_json):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("newsbot.test_logs")
    chosen = settings(**{name: value, "NEWSBOT_LOG_JSON": as_json})
    present = list(logging.root.handlers)
    logging.root.handlers = [handler]
    try:
        shape_logs(chosen)
        shape_logs(chosen)  # a second call has no effect
        for form in (PASSWORD, "hunter2%2F%C3%B6st", value):
            logger.error("the server said password=%s", form)
            try:
                raise ValueError(f"cannot connect to {form}")
            except ValueError:
                logger.exception("broken")
    finally:
        logging.root.handlers = present
    lines = stream.getvalue()
    assert "hunter2" not in lines
    assert MASK in lines
    assert "Traceback" in lines
    if as_json:
        assert all(json.loads(line) for line in lines.splitlines())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GET https://u:p@news.test/a failed", f"GET https://{MASK}@news.test/a failed"),
        ("redis://:pw@host/0 and mongodb+srv://a:b@c", f"redis://{MASK}@host/0 and mongodb+srv://{MASK}@c"),
        ("hub https://h.test/?token=abcdef&x=1", f"hub https://h.test/?token={MASK}&x=1"),
        ("x?api_key=1234;access_token=5678", f"x?api_key={MASK};access_token={MASK}"),
        (
            "a?auth-key=x&X-Amz-Signature=y#access_token=z",
            f"a?auth-key={MASK}&X-Amz-Signature={MASK}#access_token={MASK}",
        ),
        ("/in?to=http%3A%2F%2Fh%2F%3Ftoken%3Dabc&x=1", f"/in?to=http%3A%2F%2Fh%2F%3Ftoken%3D{MASK}&x=1"),
        (
            "/in?to=http%253A%252F%252Fh%252F%253Ftoken%253Dabc",
            f"/in?to=http%253A%252F%252Fh%252F%253Ftoken%253D{MASK}",
        ),
        ("/in?to=https%3A%2F%2Fu%3Ap%40h%2F", f"/in?to=https%3A%2F%2F{MASK}%40h%2F"),
        ("/in?to=https%3A%2F%2Fh%2F%40user", "/in?to=https%3A%2F%2Fh%2F%40user"),
        (
            "?refreshToken=a&userkey=b&token[]=c&key%5B%5D=d",
            f"?refreshToken={MASK}&userkey={MASK}&token[]={MASK}&key%5B%5D={MASK}",
        ),
        ("?jwt=a&X-Amz-Credential=b/c&keyword=d", f"?jwt={MASK}&X-Amz-Credential={MASK}&keyword=d"),
        ("https://u:p@w@h/a?mail=me@x.test", f"https://{MASK}@h/a?mail=me@x.test"),
        (r'"?key=ab\"c"', rf'"?key={MASK}\"c"'),
        ("{'Authorization': [b'Basic dTpw']}", f"{{'Authorization': [b'Basic {MASK}']}}"),
        ("mail to me@example.org about https://a.test/", "mail to me@example.org about https://a.test/"),
        ("https://a.test/@user/1?monkey=2", "https://a.test/@user/1?monkey=2"),
    ],
)
def test_values_that_look_like_secrets_are_removed(line, expected):
    assert redacted(line) == expected


def test_short_and_common_words_are_not_secrets():
    chosen = settings(NEWSBOT_SENSOR_SECRET="abc", REDIS_URL="redis://localhost:6379/0")
    assert not {"abc", "redis", "localhost"} & set(secrets_of(chosen))


def test_log_lines_of_libraries_are_changed_too():
    formatter = SafeFormatter(logging.Formatter("%(message)s"), ["geheim"])
    try:
        raise OSError("geheim")
    except OSError:
        line = formatter.format(logging.LogRecord("lib", 40, "f", 1, "said %s", ("geheim",), sys.exc_info()))
    assert "geheim" not in line


def test_a_whole_crawl_logs_json_only(site, world):
    host = "http://news.test"
    site.page(f"{host}/story/1", article_html(1))
    site.page(
        f"{host}/feed.xml", feed_xml([f"{host}/story/1"]), headers={"Content-Type": "application/rss+xml"}
    )
    world.rule("news.test", f"domain: news.test\nfeeds: {host}/feed.xml\n")
    secret = {"NEWSBOT_SENSOR_SECRET": "geheimnis", "NEWSBOT_LOG_LEVEL": "DEBUG"}
    crawl = world.crawl("-s", "NEWSBOT_LOG_JSON=1", "-s", "NEWSBOT_PROGRESS_INTERVAL=1", **secret)
    assert crawl.code == 0
    lines = [json.loads(line) for line in crawl.err.splitlines()]
    assert len(lines) > 5
    assert any(line["event"] == "stored" and line["url"] == f"{host}/story/1" for line in lines)
    assert "geheimnis" not in crawl.err
