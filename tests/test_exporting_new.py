"""Exports of new articles contain each version once, even after failures. Exported feeds are valid."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.apps.export import command
from newsbot.apps.export.command import export_new
from newsbot.apps.export.formats import SUMMARY, feed_of, to_feed
from newsbot.apps.search.articles import ArticleSearch
from newsbot.errors import UserError
from newsbot.pages.discovery.feeds import parse_feed
from newsbot.storage.notes import Notes
from tests.commandline import ROOT, Place, article

ATOM = "http://www.w3.org/2005/Atom"


class Crash(BaseException):
    """Simulates the end of the process."""


class Kept(Notes):
    """A storage of notes, and of articles in the order in which they were stored."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, object]] = {}
        self.stored: list[str] = []
        self.crash_at = 10**6
        self.step = 0

    def tick(self) -> None:
        self.step += 1
        if self.step == self.crash_at:
            raise Crash

    def all(self, kind):
        return {key: json.loads(json.dumps(note)) for key, note in self.kept.items()}

    def get_many(self, names):
        return {name: self.kept[name[1]] for name in names if name[1] in self.kept}

    def save(self, kind, key, note):
        self.tick()
        self.kept[key] = json.loads(json.dumps(note))
        self.tick()

    def swap(self, kind, key, old, new):
        if self.kept.get(key) != old:
            return False
        self.save(kind, key, new)
        return True

    def forget(self, kind, key):
        return self.kept.pop(key, None) is not None

    def write(self, stream, file, cursor):
        new = self.stored[int(cursor or 0) :]
        self.tick()
        stream.write("".join(f"{name}\n" for name in new).encode())
        self.tick()
        return len(new), str(len(self.stored))


def exported(folder: Path) -> list[str]:
    return [line for path in sorted(folder.glob("out-*")) for line in path.read_text().splitlines()]


def run(kept: Kept, folder: Path, **options):
    return export_new(kept, "daily", folder / "out.txt", options, kept.write)


@settings(max_examples=60, deadline=None)
@given(crashes=st.lists(st.integers(1, 9), max_size=4), in_rename=st.sampled_from(["before", "after", None]))
def test_each_article_is_exported_once_after_crashes_at_any_moment(tmp_path_factory, crashes, in_rename):
    folder = tmp_path_factory.mktemp("export")
    kept = Kept()
    replace = Path.replace

    def killed_about_here(self, target):
        if in_rename == "after":
            replace(self, target)
        raise Crash

    for turn, crash in enumerate([*crashes, 10**6]):
        kept.stored += [f"{turn}a", f"{turn}b"]
        kept.step, kept.crash_at = 0, crash
        with pytest.MonkeyPatch.context() as patch:
            if in_rename and turn == 0 and crashes:
                patch.setattr(Path, "replace", killed_about_here)
            with suppress(Crash):
                run(kept, folder)
    kept.crash_at = 10**6
    run(kept, folder)
    assert sorted(exported(folder)) == sorted(kept.stored)
    assert run(kept, folder).file is None


def test_invalid_exports_are_refused(tmp_path):
    kept = Kept()
    kept.stored = ["a"]
    assert run(kept, tmp_path, source="x").file == tmp_path / "out-000001.txt"
    kept.stored.append("b")
    with pytest.raises(UserError, match="other options"):
        run(kept, tmp_path, source="y")
    (tmp_path / "out-000002.txt").write_text("mine")
    with pytest.raises(UserError, match="exists"):
        run(kept, tmp_path, source="x")
    with pytest.raises(UserError, match="letters"):
        export_new(kept, "../x", tmp_path / "out.txt", {}, kept.write)
    with command._alone(tmp_path, "daily"), pytest.raises(UserError, match="another export"):
        run(kept, tmp_path, source="x")
    with pytest.raises(UserError, match="cannot be written"):
        run(kept, tmp_path / "out-000001.txt", source="x")


def test_the_command_writes_numbered_files(tmp_path):
    place = Place(tmp_path)
    with place.storage() as storage:
        storage.articles.store(article(1))
        storage.articles.store(article(2, rights={"noai": "meta"}))
    out = tmp_path / "out" / "news.jsonl"
    words = ("articles", "export", "--new", "daily", "-o", str(out), "--without-ai-opt-outs")
    assert place.run(*words, "--json").json["articles"] == 1
    assert "0 articles" in place.run(*words).err
    with place.storage() as storage:
        storage.articles.store(article(1, text="Quite another text of the harbour. " * 4))
    assert place.run(*words).code == 0
    files = sorted(path.name for path in out.parent.glob("news-*"))
    assert files == ["news-000001.jsonl", "news-000002.jsonl"]
    versions = [json.loads((out.parent / name).read_text())["version"] for name in files]
    assert versions == [1, 2]
    assert place.run("articles", "export", "--new", "daily").code == 2
    assert place.run(*words, "--since", "7d").code == 2
    refused = place.run(*words, "--raw")
    assert (refused.code, "--raw works only with CSV, not with jsonl" in refused.err) == (2, True)
    table = str(tmp_path / "news.csv")
    assert place.run("articles", "export", "-o", table, "--excel", "--raw").code == 0
    assert Path(table).read_bytes().startswith(b"\xef\xbb\xbfurl,")


@pytest.mark.skipif(shutil.which("faketime") is None, reason="the Debian package faketime is missing")
@pytest.mark.parametrize("days", ["+30d", "-30d"])
def test_a_wrong_clock_does_not_lose_articles(tmp_path, days):
    place = Place(tmp_path)
    with place.storage() as storage:
        storage.articles.store(article(1))
    words = ("articles", "export", "--new", "daily", "-o", str(tmp_path / "out.jsonl"))
    wrong = ["faketime", "-f", days, sys.executable, "-m", "scrapy", *words]
    environment = {**os.environ, **place.environment}
    done = subprocess.run(wrong, check=False, cwd=ROOT, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    with place.storage() as storage:
        storage.articles.store(article(2))
    assert place.run(*words).code == 0
    assert [json.loads(line)["title"] for line in exported(tmp_path)] == ["Title 1", "Title 2"]


def test_exported_feeds_can_be_parsed(tmp_path):
    place = Place(tmp_path)
    with place.storage() as storage:
        storage.articles.store(article(1, title="Порт & <b>гавань</b> \x0b", tags=["a&b"], authors=["А. Б."]))
        storage.articles.store(article(2, summary="Short.", source="other.net"))
        with closing(ArticleSearch(tmp_path / "search.db", storage.articles)) as search:
            atom = feed_of(search, "harbour", address="https://me.example/feed?a=1&b=2")
            rss = feed_of(search, "", kind="rss", limit=1)
    for data, count in ((atom, 2), (rss, 1)):
        feed = parse_feed(data, "https://me.example/feed")
        assert not feed.problems
        assert len(feed.links) == count
        assert feed.links[0].url == "https://example.org/news/2?utm_source=feed"
        assert feed.links[0].published_at == datetime(2024, 5, 2, 8, tzinfo=UTC)
    entries = ET.fromstring(atom).findall(f"{{{ATOM}}}entry")
    assert [entry.findtext(f"{{{ATOM}}}title") for entry in entries] == ["Title 2", "Порт & <b>гавань</b> "]
    assert entries[0].findtext(f"{{{ATOM}}}summary") == "Short."
    assert len(entries[1].findtext(f"{{{ATOM}}}summary") or "") <= SUMMARY + 2
    answer = place.run("articles", "feed", "harbour", "--source", "other.net", "--format", "rss")
    assert answer.out.count("<item>") == 1
    wrong = place.run("articles", "feed", "--address", "nonsense")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == "scrapy articles: --address: 'nonsense' is not an absolute http(s) URL\n"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_a_feed_of_any_text_is_valid_xml(title, text):
    one = article(1, title=title, text=text, tags=[text], authors=[title])
    for kind in ("atom", "rss"):
        ET.fromstring(to_feed([one], kind=kind, title=title, address=text))
