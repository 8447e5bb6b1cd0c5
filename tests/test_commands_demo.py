"""``scrapy demo`` without its crawl, which is replaced by a small program."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from newsbot.apps.demo import check as demo
from newsbot.apps.demo import server
from newsbot.apps.demo.server import MIN_ARTICLES
from tests.commandline import Answer, Place

CRAWLER = """
import os, sys, urllib.request
from pathlib import Path
from newsbot.dedup.index import text_key
from tests.manifests import load_manifest
from newsbot.items import Article
from newsbot.storage.sqlite import SqliteStorage

for name in ("HTTP_PROXY", "REDIS_URL", "MONGO_URI"):
    assert name not in os.environ
skip, code = int(sys.argv[1]), int(sys.argv[2])
manifest = load_manifest(Path(os.environ["NEWSBOT_RULES"], "manifest.json"))
urllib.request.urlopen("http://courier.demo.example/").read()
for url in sys.argv[3:]:
    urllib.request.urlopen(url).read()
storage = SqliteStorage(Path(os.environ["NEWSBOT_DATA"], "newsbot.db"))
for one in manifest.articles[skip:]:
    text = one.first_line + "\\n" + "word " * one.words + one.url
    storage.articles.store(Article(url=one.url, canonical_url=one.url, source=one.source, title=one.title,
                                   text=text, content_hash=text_key(text)))
storage.close()
print("the crawl's own lines")
sys.exit(code)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in ("HTTP_PROXY", "REDIS_URL", "MONGO_URI"):
        monkeypatch.setenv(name, "elsewhere://nowhere")
    return Place(tmp_path)


def run(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    *words: str,
    skip: int = 0,
    code: int = 0,
    visits: tuple[str, ...] = (),
) -> Answer:
    crawl = (sys.executable, "-c", CRAWLER, str(skip), str(code), *visits)
    monkeypatch.setattr(demo, "CRAWL", crawl)
    return place.run("demo", "--articles", str(MIN_ARTICLES), "--data", str(place.data), *words)


def test_all_stored_once_is_exit_code_0(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run(place, monkeypatch)
    assert (answer.code, answer.err) == (0, "")
    assert "every article was stored exactly once" in answer.out
    assert f"data: {place.data}" in answer.out
    assert (place.data / "newsbot.db").exists()


def test_a_missing_article_is_named_with_exit_code_1(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run(place, monkeypatch, skip=2)
    assert answer.code == 1
    assert answer.out.count("missing  http://") == 2
    assert "NOT every article" in answer.out


def test_a_long_list_of_faults_is_cut_short_except_in_json(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = run(place, monkeypatch, skip=30)
    assert "… and 20 more" in answer.out
    assert len(run(place, monkeypatch, "--json", skip=30).json["faults"]) == 30


def test_a_failed_crawl_is_exit_code_1(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run(place, monkeypatch, code=3)
    assert answer.code == 1
    assert "the crawl ended with exit code 3" in answer.out


def test_json_alone_is_on_stdout(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run(place, monkeypatch, "--json", visits=("http://courier.demo.example/tag/x",))
    result = answer.json
    assert (result["ok"], result["faults"], result["data"]) == (True, [], str(place.data))
    assert sum(site["once"] for site in result["sites"].values()) == MIN_ARTICLES
    assert result["requests_by_kind"] == {"section": 1, "tag": 1}
    assert (result["pages_fetched"], result["useful_share"]) == (1, 0)


def test_requests_that_robots_txt_forbids_are_a_fault(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://gazeta.demo.example/login?next=x"
    answer = run(place, monkeypatch, visits=(url,))
    assert answer.code == 1
    assert f"robots.txt forbids it: {url}" in answer.out


def test_a_demo_continues_in_its_folder(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(place, monkeypatch, skip=5).code == 1
    first = json.loads((place.data / "demo.json").read_text())
    monkeypatch.setattr(server, "this_hour", lambda: pytest.fail("the web has changed"))
    assert run(place, monkeypatch).code == 0
    assert json.loads((place.data / "demo.json").read_text()) == first
    other = place.run("demo", "--articles", "61", "--data", str(place.data))
    assert other.code == 2
    assert f"contains a demo with {MIN_ARTICLES} articles" in other.err


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"articles": "many", "now": 1}', '{"articles": 60, "now": "x"}']
)
def test_a_foreign_state_file_is_reported(place: Place, text: str) -> None:
    place.data.mkdir()
    (place.data / "demo.json").write_text(text)
    answer = place.run("demo", "--data", str(place.data))
    assert answer.code == 1
    assert "was not written by scrapy demo" in answer.err
    assert answer.err.count("\n") == 1


def test_a_folder_that_cannot_be_created_is_reported(place: Place) -> None:
    (place.folder / "file").touch()
    answer = place.run("demo", "--data", str(place.folder / "file" / "below"))
    assert answer.code == 1
    assert "give --data another folder" in answer.err


@pytest.mark.parametrize("size", ["5", "0", "many", "99999999"])
def test_wrong_sizes_are_usage_errors(place: Place, size: str) -> None:
    answer = place.run("demo", "--articles", size, "--data", str(place.data))
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert not place.data.exists()
