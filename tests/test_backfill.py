"""``scrapy backfill``: the older articles of a site, from indexes in the form that web archives document."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import cache
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

import pytest

from newsbot.apps.archive import cdx, importing
from newsbot.apps.archive.cdx import PacedClient, RemoteFault, Wanted, Wayback, read_answer
from newsbot.items import Article
from testbed.loopback import LoopbackServer
from testbed.messages import Answer, Request
from tests import warm
from tests.commandline import ROOT, Place, article
from tests.crawls import article_html
from tests.warcfiles import warc_file

HOST = "https://example.org"
SINCE = ("--since", "2024-01")
_DATE = "2026-11-20T08:00:00Z"  # of article_html


def page(number: int, day: str = "2024-03-07", **more: Any) -> str:
    """Return an article page that was published on a day."""
    return article_html(number, **more).replace(_DATE, f"{day}T08:00:00Z")


def surt(url: str) -> str:
    """Return the sort key of a URL."""
    parts = urlsplit(url)
    labels = (parts.hostname or "").removeprefix("www.").split(".")
    return f"{','.join(reversed(labels))}){parts.path.lower()}{'?' + parts.query if parts.query else ''}"


class WebArchive(LoopbackServer):
    """The Wayback Machine and Common Crawl, as their documentation describes them."""

    def __init__(self) -> None:
        super().__init__(self.answer)
        self.captures: list[tuple[str, str, str, str]] = []
        """URL, moment, status and body."""
        self.more: dict[str, str] = {}
        """Headers of the original responses."""
        self.collections: dict[str, list[tuple[str, str, str, str]]] = {}
        self.faults: list[Answer] = []
        """Answers of the next requests, in place of the right ones."""
        self.output = "json"

    def add(self, url: str, moment: str, body: str, status: str = "200") -> None:
        self.captures.append((url, moment, status, body))

    def paths(self, part: str = "") -> list[str]:
        return [record.path for record in self.log if part in record.path]

    def pages(self) -> list[str]:
        """Return the archived URLs that were requested."""
        return [path.partition("id_/")[2] for path in self.paths("id_/")]

    def answer(self, request: Request) -> Answer:
        if self.faults:
            return self.faults.pop(0)
        path = urlsplit(request.path).path
        if path == "/cdx/search/cdx":
            return self._wayback(request.query, re.findall(r"filter=([^&]*)", request.path))
        if (match := re.match(r"/web/(\d{14})id_/(.*)", request.path)) is not None:
            return self._replay(match[1], match[2])
        if path == "/collinfo.json":
            known = [
                {"id": name, "name": name, "cdx-api": f"https://index.example/{name}-index"}
                for name in sorted(self.collections, reverse=True)
            ]
            return Answer(body=json.dumps(known).encode())
        if path.endswith("-index"):
            return self._common_crawl(path[1:].removesuffix("-index"), request.query)
        return self._file(path[1:], request.headers.get("range", ""))

    def _sorted(self, query: dict[str, str], captures: Iterable[tuple[str, str, str, str]]):
        assert query["matchType"] == "domain"
        host = query["url"]
        for one in sorted(captures, key=lambda one: (surt(one[0]), one[1])):
            name = urlsplit(one[0]).hostname or ""
            if (
                (name == host or name.endswith(f".{host}"))
                and one[2] == "200"
                and (query["from"] <= one[1] <= query.get("to", "99"))
            ):
                yield one

    def _wayback(self, query: dict[str, str], filters: list[str]) -> Answer:
        assert set(filters) == {"statuscode%3A200", "mimetype%3Atext%2Fhtml"}
        rows = [
            [surt(url), moment, url, "text/html", status, f"D{hash(body)}", str(len(body))]
            for url, moment, status, body in self._sorted(query, self.captures)
        ]
        key = unquote_plus(query["resumeKey"]) if "resumeKey" in query else ""
        left = [row for row in rows if f"{row[0]} {row[1]}" > key]
        shown, rest = left[: int(query["limit"])], left[int(query["limit"]) :]
        following = quote_plus(f"{shown[-1][0]} {shown[-1][1]}") if rest else ""
        if self.output == "text":
            lines = [" ".join(row) for row in shown] + (["", following] if following else [])
            return Answer(body="".join(f"{line}\n" for line in lines).encode())
        answer = [list(cdx.FIELDS), *shown, *([[], [following]] if following else [])] if shown else []
        return Answer(body=json.dumps(answer).encode())

    def _replay(self, moment: str, url: str) -> Answer:
        for known, at, status, body in self.captures:
            if (known, at) == (url, moment):
                headers = {f"x-archive-orig-{name}": value for name, value in self.more.items()}
                return Answer(
                    status=int(status),
                    body=body.encode(),
                    headers={"Content-Type": "text/html; charset=utf-8", **headers},
                )
        return Answer(status=404)

    @cache  # noqa: B019  # records have random ids
    def _file_of(self, name: str) -> tuple[bytes, list[tuple[int, int]]]:
        data, places = b"", []
        for url, _, _, body in sorted(self.collections[name], key=lambda one: (surt(one[0]), one[1])):
            # the first record of the file is not a response
            record = warc_file([(url, body.encode(), [])])
            at = record.index(b"\x1f\x8b\x08", 3)
            places.append((len(data), len(record) - at))
            data += record[at:]
        return data, places

    def _common_crawl(self, name: str, query: dict[str, str]) -> Answer:
        found = list(self._sorted(query, self.collections[name]))
        if not found:
            text = f"No Captures found for: {query['url']}"
            return Answer(status=404, body=json.dumps({"message": text}).encode())
        if query.get("showNumPages") == "true":
            return Answer(body=json.dumps({"pages": len(found), "pageSize": 1, "blocks": 1}).encode())
        every = sorted(self.collections[name], key=lambda one: (surt(one[0]), one[1]))
        url, moment, status, body = found[int(query["page"])]
        offset, length = self._file_of(name)[1][every.index((url, moment, status, body))]
        row = {
            "urlkey": surt(url), "timestamp": moment, "url": url, "mime": "text/html", "status": status,
            "mime-detected": "text/html", "digest": "D", "length": str(length), "offset": str(offset),
            "filename": f"crawl-data/{name}/segments/1.2/warc/{name}.warc.gz",
        }  # fmt: skip
        return Answer(body=f"{json.dumps(row)}\n".encode())

    def _file(self, path: str, wanted: str) -> Answer:
        name = path.split("/")[1]
        assert fnmatch(path, "crawl-data/*/segments/*/warc/*.warc.gz")
        begin, end = map(int, wanted.removeprefix("bytes=").split("-"))
        data = self._file_of(name)[0]
        headers = {"Content-Range": f"bytes {begin}-{end}/{len(data)}"}
        return Answer(status=206, body=data[begin : end + 1], headers=headers)


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebArchive]:
    monkeypatch.setattr(cdx, "FIRST_WAIT", 0.0)
    with WebArchive() as server:
        yield server


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path)


def run(place: Place, archive: WebArchive, *words: str, name: str = "wayback"):
    settings = dict.fromkeys(("NEWSBOT_WAYBACK", "NEWSBOT_COMMON_CRAWL", "NEWSBOT_CC_NEWS"), archive.address)
    return place.run(
        "backfill",
        "example.org",
        *SINCE,
        "--from",
        name,
        "--json",
        *words,
        NEWSBOT_ARCHIVE_DELAY="0",
        **settings,
    )


def stored(place: Place) -> dict[str, Article]:
    with place.storage() as storage:
        return {one.canonical_url: one for one in storage.articles.iter()}


@pytest.mark.parametrize("output", ["json", "text"])
def test_articles_of_an_archive_have_the_dates_of_their_pages(place, archive, monkeypatch, output):
    monkeypatch.setattr(cdx, "PART", 2)
    archive.output, archive.more = output, {"x-robots-tag": "noai"}
    archive.add("http://www.example.org:80/news/1", "20240401120000", page(1, "2024-03-07"))
    archive.add(f"{HOST}/news/2", "20250102030405", page(2, "2024-12-30"))
    archive.add(f"{HOST}/news/3", "20240401120000", page(3, "2019-05-05"))
    archive.add(f"{HOST}/login", "20240401120000", page(4))
    archive.add(f"{HOST}/news/5", "20240401120000", "<p>Moved</p>")
    archive.add(f"{HOST}/news/5", "20240501120000", page(5))
    archive.add(f"{HOST}/news/6", "20240401120000", page(6), status="404")
    archive.add("https://example.com/news/7", "20240401120000", page(7))
    answer = run(place, archive)
    assert answer.code == 0, answer.err
    [result] = answer.json
    assert (result["new"], result["other_dates"], result["done"], result["fault"]) == (3, 1, True, None)
    found = stored(place)
    assert sorted(found) == ["http://www.example.org/news/1", f"{HOST}/news/2", f"{HOST}/news/5"]
    first = found["http://www.example.org/news/1"]
    assert first.published_at == datetime(2024, 3, 7, 8, tzinfo=UTC)
    assert first.fetched_at == datetime(2024, 4, 1, 12, tzinfo=UTC)
    assert (
        first.extraction["archive"]
        == f"{archive.address}/web/20240401120000/http://www.example.org:80/news/1"
    )
    assert first.rights == {"noai": "header"}
    assert [path.count("resumeKey=") for path in archive.paths("/cdx/")] == [0, 1, 1]
    assert archive.pages().count(f"{HOST}/news/5") == 2  # the first capture is not an article
    assert not {f"{HOST}/login", f"{HOST}/news/6"} & set(archive.pages())
    why = place.run("why", f"{HOST}/news/2").out
    assert f"{archive.address}/web/20250102030405/{HOST}/news/2" in why


def test_the_article_of_the_site_wins(place, archive):
    for number in (1, 2, 3):
        archive.add(f"{HOST}/news/{number}", "20240401120000", page(number))
    live = article(1, text="The text that the site shows today, which is quite another one. " * 9)
    with place.storage() as storage:
        storage.articles.store(live)
    assert run(place, archive).json[0]["new"] == 2
    assert f"{HOST}/news/1" not in archive.pages()
    again = article(2, text="The text of the second page as the site shows it now, much longer. " * 9)
    with place.storage() as storage:
        assert storage.articles.store(again).version == 2
    assert run(place, archive, "--again").json[0]["new"] == 0
    found = stored(place)
    assert (found[f"{HOST}/news/1"].text, found[f"{HOST}/news/2"].text) == (live.text, again.text)
    assert [one.is_archived for _, one in sorted(found.items())] == [False, False, True]


def test_an_address_with_an_article_is_not_requested_again_under_another_spelling(place, archive):
    archive.add(f"{HOST}/news/1", "20240401120000", page(1))
    archive.add("http://example.org/news/1?ref=mail", "20240501120000", page(1, title="Another headline"))
    assert run(place, archive).json[0]["requested"] == 1
    assert len(stored(place)) == 1


def test_a_killed_backfill_goes_on_where_it_was(place, archive, monkeypatch):
    monkeypatch.setattr(importing, "NOTE_EVERY", 0.0)
    for number in range(6):
        archive.add(f"{HOST}/news/{number}", "20240401120000", page(number))
    take, taken = importing.Backfill._take_page, list[str]()

    async def killed(self, page, rule, address):
        if len(taken) == 3:
            raise SystemExit  # nothing is saved at the end, as with kill -9
        taken.append(page.url)
        return await take(self, page, rule, address)

    monkeypatch.setattr(importing.Backfill, "_take_page", killed)
    save, saved = importing.Backfill._save, list[int]()

    def save_before_the_end(self, progress):
        if len(taken) < 3 or len(saved) > 3:
            saved.append(len(taken))
            save(self, progress)

    monkeypatch.setattr(importing.Backfill, "_save", save_before_the_end)
    with pytest.raises(SystemExit):
        run(place, archive)
    assert len(stored(place)) == 3
    taken.append("so that it goes on")
    saved += [0] * 4
    result = run(place, archive).json[0]
    assert Counter(archive.pages()) == Counter(
        {**{f"{HOST}/news/{n}": 1 for n in range(6)}, f"{HOST}/news/3": 2}
    )
    assert len(stored(place)) == 6
    assert (result["done"], result["captures"]) == (True, 6)
    assert "was read before" in run(place, archive).err


def test_the_budget_ends_a_run_and_the_next_one_continues(place, archive):
    for number in range(5):
        archive.add(f"{HOST}/news/{number}", "20240401120000", page(number))
    first = run(place, archive, "--max-pages", "2")
    assert (first.code, first.json[0]["requested"], first.json[0]["done"]) == (0, 2, False)
    assert "--max-pages is used up; run the same command again" in first.err
    assert run(place, archive, "--max-pages", "3").json[0]["requested"] == 5
    assert len(archive.pages()) == len(set(archive.pages())) == 5
    assert len(stored(place)) == 5


def test_without_patterns_pages_of_a_family_decide_about_the_others(place, archive):
    (place.rules / "example.org.yaml").write_text("domain: example.org\n")
    words = ["harbour", "school", "market", "theatre", "station", "library"]
    for number, word in enumerate(words):
        moment = "20240401120000"
        archive.add(f"{HOST}/projects/a-new-{word}-for-all-of-us", moment, "<h1>Member</h1><p>Contact</p>")
        archive.add(f"{HOST}/2024/03/05/new-{word}-opens-in-the-old-town", moment, page(number))
        archive.add(f"{HOST}/2019/03/05/old-{word}-closes-in-the-new-town", moment, page(number + 50))
        archive.add(f"{HOST}/tag/{word}", moment, page(number + 100))
    assert run(place, archive).json[0]["new"] == 6
    asked = Counter(urlsplit(url).path.split("/")[1] for url in archive.pages())
    assert asked == {"projects": 2, "2024": 6}


def test_removed_pages_are_not_requested(place, archive):
    archive.add(f"{HOST}/news/1", "20240401120000", page(1))
    archive.add(f"{HOST}/news/2", "20240401120000", page(2))
    with place.storage() as storage:
        storage.articles.store(article(1))
    assert place.run("remove", f"{HOST}/news/1", "--yes").code == 0
    assert run(place, archive).json[0]["new"] == 1
    assert archive.pages() == [f"{HOST}/news/2"]
    assert place.run("remove", "example.org", "--yes").code == 0
    with place.storage() as storage:
        assert not storage.notes.all("backfill:example.org")


def test_common_crawl_is_read_collection_by_collection(place, archive):
    archive.collections = {
        "CC-MAIN-2019-09": [(f"{HOST}/news/9", "20190220000000", "200", page(9))],
        "CC-MAIN-2024-10": [
            (f"{HOST}/news/1", "20240301000000", "200", page(1, "2024-02-28")),
            (f"{HOST}/news/2", "20240301000000", "200", page(2)),
            (f"{HOST}/login", "20240301000000", "200", page(3)),
        ],
        "CC-MAIN-2024-18": [("https://example.com/", "20240424000000", "200", page(4))],
        "CC-MAIN-2024-22": [
            (f"{HOST}/news/2", "20240601000000", "200", page(2)),
            (f"{HOST}/news/5", "20240601000000", "200", page(5)),
        ],
    }
    first = run(place, archive, "--max-pages", "2", name="commoncrawl")
    assert (first.code, first.json[0]["new"]) == (0, 2), first.err
    result = run(place, archive, name="commoncrawl").json[0]
    assert (result["new"], result["requested"], result["done"]) == (3, 3, True)
    asked = [path.partition("?")[0] for path in archive.paths("-index")]
    assert "/CC-MAIN-2019-09-index" not in asked
    assert archive.paths("CC-MAIN-2024-10-index?")[-1].endswith("page=2")
    found = stored(place)[f"{HOST}/news/1"]
    assert found.published_at == datetime(2024, 2, 28, 8, tzinfo=UTC)
    assert found.extraction["archive"].startswith(f"{archive.address}/crawl-data/CC-MAIN-2024-10/segments/")


def test_a_busy_archive_is_asked_again_and_one_that_is_away_is_named(place, archive):
    archive.add(f"{HOST}/news/1", "20240401120000", page(1))
    archive.faults = [Answer(status=429, headers={"Retry-After": "0"}), Answer(hang_up=True)]
    answer = run(place, archive)
    assert (answer.code, answer.json[0]["new"]) == (0, 1)
    assert "status 429; retrying" in answer.err
    archive.faults = [Answer(status=503)] * cdx.TRIES
    away = run(place, archive, "--again")
    assert (away.code, away.json[0]["done"]) == (1, False)
    assert "503; gave up after 6 attempts; run the same command again to continue" in away.err
    archive.faults = [Answer(status=403, body=b"Blocked Site Error")]
    assert "status 403" in run(place, archive).err
    archive.faults = [Answer(body=b"<html>Sorry</html>")]
    assert "the answer is not an index of captures: '<html>Sorry</html>'" in run(place, archive).err


def test_a_page_that_an_archive_cannot_return_does_not_stop_the_others(place, archive, monkeypatch):
    for number in range(1, 6):
        archive.add(f"{HOST}/news/{number}", "20240401120000", page(number))
    archive.add(f"{HOST}/news/6", "20240230120000", page(6))  # there is no such day
    replay = archive._replay

    def odd(moment: str, url: str) -> Answer:
        if url.endswith("/2"):
            return Answer(status=504)
        return Answer(body=b"x" * 2_000_000) if url.endswith("/3") else replay(moment, url)

    monkeypatch.setattr(archive, "_replay", odd)
    (row,) = json.loads(run(place, archive, "-s", "DOWNLOAD_MAXSIZE=1000000").out)
    assert (row["new"], row["missing"], row["done"]) == (3, 2, True)


def test_pages_are_not_missing_because_an_archive_was_away(place, archive, monkeypatch):
    for number in range(1, 6):
        archive.add(f"{HOST}/news/{number}", "20240401120000", page(number))
    replay = archive._replay
    monkeypatch.setattr(
        archive, "_replay", lambda at, url: replay(at, url) if url.endswith("/1") else Answer(status=503)
    )
    first = run(place, archive)
    (row,) = json.loads(first.out)
    assert (first.code, row["new"], row["missing"], row["captures"], row["done"]) == (1, 1, 0, 1, False)
    monkeypatch.setattr(archive, "_replay", replay)
    (row,) = json.loads(run(place, archive).out)
    assert (row["new"], row["missing"], row["captures"], row["done"]) == (5, 0, 5, True)


def test_dates_at_the_ends_of_the_calendar(place, archive):
    archive.add(f"{HOST}/news/1", "20240401120000", page(1))
    words = ("backfill", "example.org", "--since", "0001", "--until", "9999-12-31", "--from", "wayback")
    done = place.run(*words, "--json", NEWSBOT_ARCHIVE_DELAY="0", NEWSBOT_WAYBACK=archive.address)
    assert (done.code, done.json[0]["new"]) == (0, 1)


def test_an_index_that_is_not_there_is_a_fault(place, archive, monkeypatch):
    monkeypatch.setattr(archive, "_wayback", lambda *_: Answer(status=404))
    done = run(place, archive)
    assert (done.code, json.loads(done.out)[0]["done"]) == (1, False)
    assert "status 404" in done.err


def test_resume_keys_in_a_circle_end(archive, monkeypatch):
    keys = {"": "a", "a": "b", "b": "a"}
    monkeypatch.setattr(
        archive,
        "_wayback",
        lambda query, _: Answer(
            body=json.dumps([["timestamp", "original"], [], [keys[query.get("resumeKey", "")]]]).encode()
        ),
    )
    wanted = Wanted(domain="a.org", since=datetime(2024, 1, 1, tzinfo=UTC))
    parts = Wayback(archive.address, PacedClient("newsbot", 0, print)).parts(wanted, {})
    assert len(list(zip(range(9), parts, strict=False))) == 3


def test_wrong_arguments(place, archive):
    assert "--since is not before --until" in run(place, archive, "--until", "2023").err
    answer = place.run("backfill", "example.org", "--since", "last summer")
    assert (answer.code, "'last summer' is not a date" in answer.err) == (2, True)
    assert "--from: 'google' is not allowed" in place.run("backfill", "a.org", *SINCE, "--from", "google").err


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (b"", ""),
        (b"[]", ""),
        (b'[["timestamp","original"],["20240301000000","http://a.org/"],[],["org%2Ca%29%2F+2024%21"]]',
         "org%2Ca%29%2F+2024%21"),
        (b"org,a)/ 20240301000000 http://a.org/ text/html 200 ABC 1415\n\norg%2Ca%29%2F+2024%21\n",
         "org%2Ca%29%2F+2024%21"),
        (b'org,a)/ 20240301000000 {"url": "http://a.org/", "status": "200"}\n', ""),
        (b'{"urlkey": "org,a)/", "timestamp": "20240301000000", "url": "http://a.org/"}\n', ""),
    ],
)  # fmt: skip
def test_the_documented_forms_of_an_index(body, key):
    captures, following = read_answer(body)
    assert [(one.url, one.moment) for one in captures] == [("http://a.org/", "20240301000000")] * (
        len(body) > 2
    )
    assert following == key


@pytest.mark.parametrize(
    "body",
    [
        b"[[1]]x",
        b'[["a"],["b","c"]]',
        b"one two",
        b'{"url": "http://a.org"}',
        b"[7]",
        b'[{"a": 1}, {"b": 2}]',
        b"[" * 100_000,
        b'{"url": "http://a.org/", "timestamp": "20240301000000", "filename": "f"}',
        b'{"url": "http://a.org/", "timestamp": "20240301000000", "filename": "f", "length": Infinity}',
    ],
    ids=range(9),
)
def test_other_answers_are_faults(body):
    with pytest.raises(RemoteFault, match="not an index of captures"):
        read_answer(body)


@pytest.mark.parametrize("printed", ["org%2Ca%29%2Fx%2520y+2024%21", "org,a)/x%20y 2024!"])
def test_a_resume_key_is_sent_as_it_was_meant(archive, printed, monkeypatch):
    monkeypatch.setattr(
        archive, "_wayback", lambda query, _: Answer(body=b"[]") if "resumeKey" in query else Answer(
            body=json.dumps([["timestamp", "original"], [], [printed]]).encode()
        )
    )  # fmt: skip
    wanted = Wanted(domain="a.org", since=datetime(2024, 1, 1, tzinfo=UTC))
    list(Wayback(archive.address, PacedClient("newsbot", 0, print)).parts(wanted, {}))
    assert "resumeKey=org%2Ca%29%2Fx%2520y+2024%21" in archive.log[-1].path


def test_requests_to_one_host_keep_the_pause(archive, monkeypatch):
    waited: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(time, "sleep", waited.append)
    client = PacedClient("newsbot", 2.5, print)
    for _ in range(2):
        client.get(f"{archive.address}/web/20240301000000id_/http://a.org/", 1000)
    assert waited == [0.0, 2.5]


def test_the_site_itself_comes_first_and_archives_fill_the_gaps(site, world, archive, monkeypatch):
    host = "http://news.test"
    rule = f"domain: news.test\nsitemaps: {host}/sitemap.xml\narticle: ^/story/\n"
    world.rule("news.test", rule)
    months = "".join(f"<sitemap><loc>{host}/{name}.xml</loc></sitemap>" for name in ("2024-02", "2024-03"))
    site.page(
        f"{host}/sitemap.xml", f"<sitemapindex xmlns='{_SITEMAP}'>{months}</sitemapindex>", headers=_XML
    )
    for name, numbers in (("2024-02", (1, 2)), ("2024-03", (3, 4))):
        urls = "".join(f"<url><loc>{host}/story/{n}</loc></url>" for n in numbers)
        site.page(f"{host}/{name}.xml", f"<urlset xmlns='{_SITEMAP}'>{urls}</urlset>", headers=_XML)
    for number in (1, 2, 3):
        site.page(f"{host}/story/{number}", page(number))
    for number in (1, 4, 5):  # the site has lost 4 and 5
        archive.add(f"{host}/story/{number}", "20240401120000", page(number, title=f"As archived {number}"))
    crawls: list[list[str]] = []

    def crawl(command, **_):
        crawls.append(command)
        done = warm.run(command, cwd=ROOT, env=world.environment())
        assert done.returncode == 0, done.stderr
        return done

    monkeypatch.setattr(subprocess, "run", crawl)
    place = Place.__new__(Place)
    place.data, place.rules = world.data, world.rules
    words = (*SINCE, "--from", "site", "--from", "wayback", "--max-pages", "50", "--json")
    at = {"NEWSBOT_WAYBACK": archive.address, "NEWSBOT_ARCHIVE_DELAY": "0"}
    done = place.run("backfill", "news.test", *words, **at)
    assert done.json[0]["new"] == 2, done.err
    assert place.run("backfill", "news.test", *words, **at).code == 0
    assert ["now=yes" in command for command in crawls] == [True, False]
    assert {"sites=news.test", "since=2024-01-01T00:00:00Z", "CLOSESPIDER_PAGECOUNT=50"} < set(crawls[0])
    found = {one.canonical_url: one.is_archived for one in world.articles()}
    assert found == {f"{host}/story/{number}": number > 3 for number in range(1, 6)}
    site.page(f"{host}/story/5", page(5, extra="<p>It was found again.</p>", title="The story is back"))
    urls = f"<url><loc>{host}/story/5</loc></url>"
    site.page(f"{host}/sitemap.xml", f"<urlset xmlns='{_SITEMAP}'>{urls}</urlset>", headers=_XML)
    assert world.crawl("-a", "now=yes", "-a", "since=2024-01-01").code == 0
    back = next(one for one in world.articles() if one.canonical_url.endswith("/5"))
    assert (back.title, back.is_archived, back.version) == ("The story is back", False, 2)


_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
_XML = {"Content-Type": "application/xml"}
