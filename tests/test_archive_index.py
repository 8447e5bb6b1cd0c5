"""The index of archived pages (CDXJ), and the archived page of an article."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile

import pytest
from scrapy.settings import Settings
from warcio.archiveiterator import ArchiveIterator

from newsbot.apps import outgoing as s3
from newsbot.apps.archive.middleware import Archive, Indexes, open_archive, prune
from newsbot.apps.archive.writer import (
    COPIED,
    INDEX,
    OPEN,
    WarcFolder,
    latest,
    page_at,
    surt,
    write_index,
)
from newsbot.backends import open_storage
from newsbot.errors import UserError
from newsbot.items import Article
from newsbot.urls import fingerprint
from tests.browser import chromium
from tests.contracts.storage_samples import make_page
from tests.crawls import World, article_html
from tests.dashboarddata import make_article
from tests.dashboards import Visitor, served, settings_of, visit
from tests.newssite import HOST, serve
from tests.sinkservers import object_store
from tests.test_warc import exchange
from tests.warcfiles import packed_exchange


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.News.example/A/b?C=1", "example,news)/a/b?c=1"),
        ("http://news.example", "example,news)/"),
        ("http://news.example:8080/x", "example,news:8080)/x"),
        ("https://дом.рф/новость", "рф,дом)/новость"),
    ],
)
def test_keys_have_the_labels_of_the_host_reversed(url: str, key: str) -> None:
    assert surt(url) == key


def test_each_article_of_a_crawl_leads_to_its_archived_page(site, world, tmp_path: Path) -> None:
    serve(site, world, 5)
    folder = tmp_path / "warc"
    options = ("-s", f"NEWSBOT_WARC_DIR={folder}")
    assert world.crawl(*options).code == 0
    site.page(f"{HOST}/old", status=302, headers={"Location": f"{HOST}/story/21"})
    site.page(f"{HOST}/story/21", article_html(21))
    site.page(f"{HOST}/print/22", article_html(22, head=f"<link rel=canonical href='{HOST}/story/22'>"))
    asked = ("-a", f"urls={HOST}/old {HOST}/print/22")
    assert world.crawl(*options, *asked).code == 0
    files = list(folder.glob("*.warc.gz"))
    assert [path.name + INDEX for path in files] == [path.name for path in folder.glob(f"*{INDEX}")]
    articles = world.articles()
    assert len(articles) == 7
    for article in articles:
        place = latest(folder, article.url)
        assert place is not None
        page = page_at(place)
        assert page is not None
        assert page.body is not None
        assert article.title.encode() in page.body
    _is_a_web_archive_of(world, articles, tmp_path / "articles.wacz", options)
    shown = world.scrapy("articles", "show", articles[0].url, "--original", *options)
    assert articles[0].title in shown.out
    assert shown.out.strip() == article_html(int(articles[0].url[-1])).strip()
    missing = world.scrapy("articles", "show", f"{HOST}/none", "--original", *options)
    assert (missing.code, "no page or article is stored" in missing.err) == (1, True)
    front = world.scrapy("articles", "show", f"{HOST}/feed.xml", "--original", *options)
    assert (front.code, "<rss" in front.out) == (0, True), front.err
    unset = world.scrapy("articles", "show", articles[0].url, "--original")
    assert (unset.code, "NEWSBOT_WARC_DIR is not set" in unset.err) == (2, True)


def _is_a_web_archive_of(world: World, articles: list[Article], path: Path, options: Sequence[str]) -> None:
    done = world.scrapy("articles", "export", "-o", str(path), *options)
    assert done.code == 0, done.err
    command = [sys.executable, "-m", "wacz.main", "validate", "-f", str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Validation succeeded, the passed WACZ is valid" in checked.stdout, checked
    with ZipFile(path) as wacz:
        warc = wacz.read("archive/data.warc.gz")
        index = wacz.read("indexes/index.cdx").decode().splitlines()
        pages = [json.loads(line) for line in wacz.read("pages/pages.jsonl").splitlines()]
    assert index == sorted(index)
    titles = {one.url: one.title for one in articles}
    assert {one["url"]: one["title"] for one in pages[1:]} == titles
    for line in index:
        fields = json.loads(line.split(" ", 2)[2])
        at, size = int(fields["offset"]), int(fields["length"])
        record = next(iter(ArchiveIterator(io.BytesIO(warc[at : at + size]))))
        assert titles[fields["url"]].encode() in record.content_stream().read()
    none = world.scrapy("articles", "export", "-o", str(path))
    assert (none.code, "NEWSBOT_WARC_DIR is not set" in none.err) == (2, True)


def opened(folder: Path, max_size: int) -> Archive:
    indexes = Indexes()
    files = WarcFolder(folder, max_size=max_size, finished=indexes.finished)
    return Archive(files, lambda _name: None, indexes=indexes)


def test_lines_are_sorted_and_name_the_places_of_records(tmp_path: Path) -> None:
    archive = opened(tmp_path, 2000)
    for number in (3, 1, 2, 5, 4):
        archive._write(exchange(number))
    archive.close()
    lines = [line for path in tmp_path.glob(f"*{INDEX}") for line in path.read_text().splitlines()]
    assert len(lines) == 5
    for index in tmp_path.glob(f"*{INDEX}"):
        own = index.read_text().splitlines()
        assert own == sorted(own)
    for line in lines:
        _key, moment, document = line.split(" ", 2)
        fields = json.loads(document)
        assert len(moment) == 14
        with (tmp_path / fields["filename"]).open("rb") as file:
            file.seek(int(fields["offset"]))
            record = next(iter(ArchiveIterator(file)))
            assert record.rec_type == "response"
            assert record.rec_headers.get_header("WARC-Target-URI") == fields["url"]
            assert record.rec_headers.get_header("WARC-Payload-Digest") == fields["digest"]


def test_files_of_killed_processes_get_an_index(tmp_path: Path) -> None:
    folder = WarcFolder(tmp_path, max_size=10**6)
    for number in range(3):
        folder.write(packed_exchange(exchange(number)))
    assert latest(tmp_path, exchange(1).url) is not None, "a file that is being written is searched too"
    assert folder._file is not None
    folder._file.close()  # as after a kill
    assert list(tmp_path.glob(f"*{OPEN}"))
    archive = opened(tmp_path, 10**6)
    archive.close()
    (index,) = tmp_path.glob(f"*{INDEX}")
    assert len(index.read_text().splitlines()) == 3
    place = latest(tmp_path, exchange(2).url)
    assert place is not None
    page = page_at(place)
    assert page is not None
    assert page.body == exchange(2).body


def test_two_crawls_of_one_process_in_one_second_write_two_files(tmp_path: Path) -> None:
    for number in range(4):
        archive = opened(tmp_path, 10**6)
        archive._write(exchange(number))
        archive.close()
    assert len(list(tmp_path.glob("*.warc.gz"))) == 4
    assert all(latest(tmp_path, exchange(number).url) is not None for number in range(4))


def test_the_search_finds_every_line_of_a_large_index(tmp_path: Path) -> None:
    warc = tmp_path / "a.warc.gz"
    warc.write_bytes(b"")
    urls = [f"https://news.example/story/{number}" for number in range(500)]
    fields = {"status": "200", "offset": "0", "filename": warc.name}
    write_index(warc, (f"{surt(url)} 20260101000000 {json.dumps({'url': url, **fields})}" for url in urls))
    for url in urls:
        assert latest(tmp_path, url) is not None
    for url in ("https://news.example/story/", "https://a.example/", "https://zz.example/"):
        assert latest(tmp_path, url) is None


@pytest.mark.parametrize(
    "rest",
    [
        b"2026 {bad",
        b"2026",
        b'20261128080000 {"url": "https://example.org/a"}',
        b"20261128080000 \xff\xfe",
        b'20261128080000 {"url": "https://example.org/a", "status": "-", "offset": "0", "filename": "x"}',
        b'20261128080000 {"url": "https://example.org/a", "status": "9", "offset": "0", "filename": "../x"}',
    ],
)
def test_damaged_lines_of_an_index_are_passed_over(tmp_path: Path, rest: bytes) -> None:
    (tmp_path / "warc").mkdir()
    (tmp_path / "x").write_bytes(b"")
    (tmp_path / f"warc/a.warc.gz{INDEX}").write_bytes(b"org,example)/a " + rest + b"\n")
    assert latest(tmp_path / "warc", "https://example.org/a") is None


def test_the_newest_whole_page_is_chosen(tmp_path: Path) -> None:
    warc = tmp_path / "a.warc.gz"
    warc.write_bytes(b"")
    url = "https://news.example/a"
    rows = [("20260101000000", "200", "1"), ("20260301000000", "500", "3"), ("20260201000000", "200", "2")]
    lines = [
        f"{surt(url)} {moment} "
        + json.dumps({"url": url, "status": status, "offset": offset, "filename": warc.name})
        for moment, status, offset in rows
    ]
    write_index(warc, lines)
    place = latest(tmp_path, url)
    assert place is not None
    assert place.offset == 2


EVIL = (
    "<title>Tidings</title><script>fetch('/api/verdict'); document.title = 'run'</script>"
    "<meta http-equiv=refresh content='0;url=/news'><img src=/icon.svg onerror=alert(1)><p>Grüße</p>"
    "<link rel=stylesheet href=https://evil.example/x.css><form action=/do/add method=post>"
)


@pytest.fixture
def shown(tmp_path: Path) -> tuple[dict[str, Any], str]:
    """Settings with an archived page of a stored article, and the URL of the article."""
    settings = settings_of(tmp_path, NEWSBOT_WARC_DIR=str(tmp_path / "warc"))
    article = make_article(1)
    with closing(open_storage(settings)) as storage:
        storage.articles.store(article)
    archive = opened(tmp_path / "warc", 10**6)
    for url, kind, body in (
        (article.url, b"text/html; charset=ISO-8859-1", EVIL.encode("latin-1")),
        (f"{HOST}/a.pdf", b"application/pdf", b"%PDF-1.7"),
    ):
        archive._write(replace(exchange(1), url=url, answered=((b"Content-Type", kind),), body=body))
    archive.close()
    return settings, article.canonical_url


def test_the_dashboard_opens_the_archived_page(shown: tuple[dict[str, Any], str]) -> None:
    settings, url = shown

    async def look(visitor: Visitor) -> None:
        for place in ("/article", "/why"):
            _, html = await visitor.get(f"{place}?url={quote(url)}")
            assert f'href="/original?url={quote(url, safe="")}"' in html
        answer, body = await visitor.get(f"/original?url={quote(url)}")
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=ISO-8859-1")
        assert body == EVIL
        policy = answer.headers["Content-Security-Policy"].split("; ")
        assert {"sandbox", "default-src 'none'", "form-action 'none'"} <= set(policy)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        for other in (f"{HOST}/a.pdf", "https://other.example/"):  # archived, but not known; unknown
            assert (await visitor.get(f"/original?url={quote(other)}"))[0].status == 404
        assert (await visitor.get("/original?url=x"))[0].status == 400

    visit(settings, look)
    with closing(open_storage(settings)) as storage:
        storage.pages.save(
            [replace(make_page("a"), url=f"{HOST}/a.pdf", fingerprint=fingerprint(f"{HOST}/a.pdf"))]
        )

    async def download(visitor: Visitor) -> None:
        answer, _ = await visitor.get(f"/original?url={quote(HOST + '/a.pdf')}")
        assert answer.headers["Content-Disposition"] == "attachment; filename=original"

    visit(settings, download)


def test_an_archived_page_runs_nothing_in_a_browser(shown: tuple[dict[str, Any], str]) -> None:
    settings, url = shown
    with served(settings) as home, chromium() as browser:
        page, asked, loaded = browser.new_page(), list[str](), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfinished", lambda request: loaded.append(request.url))
        answer = page.goto(f"{home}/original?url={quote(url)}", wait_until="load")
        assert answer is not None
        assert answer.status == 200
        page.wait_for_timeout(300)
        assert loaded == [page.url] == [f"{home}/original?url={quote(url)}"]
        assert not any(one.endswith("/api/verdict") for one in asked)


def test_finished_files_are_copied_to_an_object_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    folder = tmp_path / "warc"
    with object_store(tmp_path) as endpoint:
        place = f"endpoint_override={endpoint}&scheme=http&region=us-east-1"
        settings = Settings({"NEWSBOT_WARC_DIR": str(folder), "NEWSBOT_WARC_SIZE": 10**6})
        archive = open_archive(settings, lambda _: None)  # of a time before the store was set
        assert archive is not None
        archive._write(exchange(1))
        archive.close()
        settings["NEWSBOT_WARC_S3"] = f"s3://key:secret@news/warc?{place}"
        assert prune(settings, 9e9, delete=True) == 0, "the file is not in the store yet"
        settings["NEWSBOT_WARC_S3"] = f"s3://key:secret@nowhere/warc?{place}"
        away = open_archive(settings, lambda _: None)
        assert away is not None
        away.close()
        assert "archive file not copied" in caplog.text
        assert "secret" not in caplog.text
        settings["NEWSBOT_WARC_S3"] = f"s3://key:secret@news/warc?{place}"
        again = open_archive(settings, lambda _: None)
        assert again is not None
        again._write(exchange(2))
        again.close()
        store, bucket = s3.object_store(settings["NEWSBOT_WARC_S3"], "the test", patience=10)
        copied = [path for path in folder.iterdir() if path.suffix != COPIED]
        for path in copied:
            assert store.open_input_stream(f"{bucket}/{path.name}").read() == path.read_bytes()
        assert len(copied) == 4
        assert prune(settings, 9e9, delete=True) == 2
        assert not list(folder.iterdir())
    with pytest.raises(UserError, match="must have the form s3://"):
        open_archive(Settings({**settings, "NEWSBOT_WARC_S3": "https://bucket"}), lambda _: None)
