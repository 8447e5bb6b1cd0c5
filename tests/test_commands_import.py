"""``scrapy articles import``: archived pages become articles in the same way as fetched ones."""

from __future__ import annotations

import pytest

from newsbot.apps.archive import importing as importer
from tests.commandline import Place
from tests.crawls import article_html, feed_xml
from tests.searching import find
from tests.warcfiles import warc_file

HOST = "https://example.org"


def warc(pages: dict[str, str], *, status: str = "200 OK") -> bytes:
    return warc_file(((url, body.encode(), []) for url, body in pages.items()), status=status)


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path)


def test_pages_go_through_the_same_pipelines(place, tmp_path):
    file = tmp_path / "a.warc.gz"
    first, second = f"{HOST}/news/1", f"{HOST}/news/2"
    file.write_bytes(
        warc(
            {
                first: article_html(1, head="<meta name='robots' content='noai'>"),
                second: article_html(2),
                f"{HOST}/news/2b": article_html(2),
                f"{HOST}/login": article_html(3),
                f"{HOST}/news/4": "<html><p>no article at all</p></html>",
                f"{HOST}/news/5": article_html(5, head="<meta name='robots' content='noindex'>"),
                "https://unknown.example.net/2026/11/a-long-story-of-a-bridge": article_html(6),
            }
        )
        + warc({f"{HOST}/news/7": article_html(7)}, status="404 Not Found")
    )
    answer = place.run("articles", "import", str(file), "--json")
    assert answer.code == 0, answer.err
    [result] = answer.json
    assert (result["new"], result["duplicates"], result["no_article"], result["refused"]) == (3, 1, 2, 2)
    with place.storage() as storage:
        kept = storage.articles.get(first)
        assert kept is not None
        assert kept.rights == {"noai": "meta"}
        assert kept.fetched_at is not None
        assert kept.fetched_at.isoformat() == "2026-11-20T10:00:00+00:00"
        assert find(storage, "council")
        page = next(page for page in storage.pages.iter() if page.url == second)
        assert (page.state, page.history[-1]["event"]) == ("done", "imported")
    known = place.run("articles", "import", str(file), "--json")
    assert known.json == answer.json
    assert known.err.startswith(f"{file}: was imported before, with these counts; --again imports it again\n")
    again = place.run("articles", "import", str(file), "--again", "--json")
    assert (again.json[0]["new"], again.json[0]["unchanged"]) == (0, 3)
    assert again.err == f"data: {place.data}\n"


def test_sites_of_one_file_can_be_imported_one_after_the_other(place, tmp_path):
    file = tmp_path / "a.warc.gz"
    other = "https://other.example.net/2026/11/a-long-story-of-a-bridge"
    file.write_bytes(warc({f"{HOST}/news/1": article_html(1), other: article_html(2)}))
    for site, url in (("example.net", other), ("example.org", f"{HOST}/news/1")):
        answer = place.run("articles", "import", str(file), "--source", site, "--json")
        assert (answer.json[0]["new"], answer.json[0]["pages"]) == (1, 2), answer.err
        with place.storage() as storage:
            assert storage.articles.get(url) is not None


def test_an_interrupted_import_continues_where_it_stopped(place, tmp_path, monkeypatch):
    file = tmp_path / "a.warc.gz"
    file.write_bytes(warc({f"{HOST}/news/{n}": article_html(n) for n in range(6)}))
    taken: list[str] = []
    take = importer.Importer._import_page
    monkeypatch.setattr(importer, "NOTE_EVERY", 0.0)

    async def counted(self, page, path):
        if len(taken) == 3:
            raise KeyboardInterrupt
        taken.append(page.url)
        return await take(self, page, path)

    monkeypatch.setattr(importer.Importer, "_import_page", counted)
    place.run("articles", "import", str(file))
    assert len(taken) == 3
    taken.append("so that it goes on")
    answer = place.run("articles", "import", str(file), "--json")
    assert taken[4:] == [f"{HOST}/news/{n}" for n in (3, 4, 5)]
    assert (answer.json[0]["new"], answer.json[0]["pages"]) == (6, 6)
    assert place.run("articles", "import", str(file), "--json").json[0]["new"] == 6
    assert len(taken) == 7


def test_a_damaged_file_is_reported_and_the_pages_before_the_damage_are_kept(place, tmp_path):
    file = tmp_path / "a.warc.gz"
    data = warc({f"{HOST}/news/{n}": article_html(n) for n in range(3)})
    file.write_bytes(data[: len(data) - 50])
    answer = place.run("articles", "import", str(file))
    assert answer.code == 1
    assert "cut off" in answer.err
    with place.storage() as storage:
        assert storage.articles.count() == 2
    file.write_bytes(data)
    assert place.run("articles", "import", str(file), str(tmp_path / "none.warc")).code == 1
    with place.storage() as storage:
        assert storage.articles.count() == 3


def test_a_file_without_pages_is_reported(place, tmp_path):
    pages, texts = tmp_path / "a.warc.gz", tmp_path / "b.warc.gz"
    pages.write_bytes(warc({f"{HOST}/news/1": article_html(1)}))
    assert "no page" not in place.run("articles", "import", str(pages)).err
    assert place.run("articles", "export", "--format", "warc", "-o", str(texts)).code == 0
    answer = place.run("articles", "import", str(texts))
    assert answer.code == 0
    assert f"{texts}: contains no original pages" in answer.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty: it contains no records"),
        (b"PK\x03\x04 no WARC", "expected a WARC record, found 'PK"),
        (b"\xff\xd8\xff\xe0 a picture", "expected a WARC record, found the bytes ff d8 ff e0"),
    ],
)
def test_a_file_that_is_not_a_warc_file_is_reported(place, tmp_path, content, message):
    file = tmp_path / "x.warc"
    file.write_bytes(content)
    answer = place.run("articles", "import", str(file))
    assert answer.err.startswith(f"{file}: {message}"), answer.err
    assert "to continue" not in answer.err


def test_removed_articles_are_not_imported(place, tmp_path):
    file = tmp_path / "a.warc.gz"
    file.write_bytes(warc({f"{HOST}/news/1": article_html(1), f"{HOST}/news/2": article_html(2)}))
    assert place.run("articles", "import", str(file)).code == 0
    assert place.run("remove", f"{HOST}/news/1", "--yes").code == 0
    result = place.run("articles", "import", str(file), "--again", "--json").json[0]
    assert (result["refused"], result["unchanged"]) == (1, 1)
    with place.storage() as storage:
        assert [one.canonical_url for one in storage.articles.iter()] == [f"{HOST}/news/2"]


def test_imported_pages_are_known_to_a_crawl(site, world, tmp_path):
    host = "http://news.test"
    story = f"{host}/story/1"
    file = tmp_path / "a.warc.gz"
    file.write_bytes(warc({story: article_html(1)}))
    world.rule("news.test", f"domain: news.test\nfeeds: {host}/feed.xml\n")
    place = Place.__new__(Place)
    place.data, place.rules = world.data, world.rules
    assert place.run("articles", "import", str(file)).code == 0
    site.page(story, article_html(1))
    site.page(f"{host}/feed.xml", feed_xml([story]), headers={"Content-Type": "application/rss+xml"})
    assert world.crawl().code == 0
    assert "/story/1" not in site.seen("news.test")
    assert world.urls() == [story]
