"""The Python interface: the public names of ``import newsbot``."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from contextlib import closing
from datetime import date
from importlib import import_module
from typing import Any

import pytest

import newsbot
from newsbot.errors import ArgumentError, DataError, UserError
from tests.crawls import ROOT, article_html
from tests.newssite import HOST, serve


@pytest.fixture
def environment(site, world, monkeypatch):
    """Set the process environment to that of the world, because crawls in Python read it."""
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    return {"NEWSBOT_RULES": str(world.rules), "NEWSBOT_RETRY_SCALE": 0.05}


def test_html_in_a_str_is_read_regardless_of_the_declared_charset():
    html = article_html(3, title="Größe der Brücke", head="<meta charset=windows-1251>")
    article = newsbot.extract(html, f"{HOST}/story/3")
    assert article is not None
    assert article.title == "Größe der Brücke"
    assert article == newsbot.extract(html.replace("windows-1251", "utf-8").encode(), f"{HOST}/story/3")


@pytest.mark.parametrize("url", ["", "nonsense", "/story/1", "ftp://news.test/1", "https://"])
def test_a_bad_address_is_refused(url):
    with pytest.raises(ValueError, match="URL"):
        newsbot.extract(article_html(1), url)


def test_an_article_survives_its_mapping_through_json():
    article = newsbot.extract(article_html(1), f"{HOST}/story/1")
    assert article is not None
    row = json.loads(json.dumps(article.to_dict()))
    assert newsbot.Article.from_dict({**row, "from_a_later_version": 1}) == article


def test_markdown_has_headings_quotes_and_lists_and_escapes_other_signs():
    article = newsbot.Article(
        url="https://news.test/1",
        canonical_url="https://news.test/1",
        source="news.test",
        title="Prices *up* by 3 %",
        authors=["Ann Lee"],
        text="Intro\nThe reasons\n1. not a list\n# not a heading\nSaid she\nFirst point",
        structure={"heading": [1], "quote": [4], "item": [5]},
    )
    assert article.to_markdown() == (
        "# Prices \\*up\\* by 3 %\n\nAnn Lee\n\n<https://news.test/1>\n\nIntro\n\n## The reasons\n\n"
        "1\\. not a list\n\n\\# not a heading\n\n> Said she\n\n- First point\n"
    )


def test_a_crawl_yields_articles_and_a_second_one_only_new_ones(site, world, environment):
    serve(site, world, 3)
    crawl = newsbot.crawl(["news.test"], data=world.data, settings=environment)
    assert {article.url for article in crawl} == {f"{HOST}/story/{n}" for n in range(3)}
    assert list(newsbot.crawl("news.test", data=world.data, settings=environment)) == []
    with closing(newsbot.open_storage(world.data)) as storage:
        assert storage.articles.count() == 3


def test_a_crawl_ends_with_its_iterator(site, world, environment):
    serve(site, world, 30)
    crawl = newsbot.crawl(["news.test"], settings=environment)
    assert next(crawl).source == "news.test"
    crawl.close()
    assert not world.data.exists()


def test_a_site_without_a_rule_is_read_from_its_home_page(site, world, environment):
    url = "http://fresh.test/2026/11/20/council-talks-about-the-old-bridge/"
    site.page(url, article_html(1))
    assert [article.url for article in newsbot.crawl(url, settings=environment)] == [url]


def test_faults_of_a_crawl_are_errors_with_its_message(site, world, environment):
    with pytest.raises(ArgumentError, match="at least one site"):
        newsbot.crawl([])
    with pytest.raises(ArgumentError, match="did you mean 'since'"):
        newsbot.crawl("news.test", settings=environment, sinse="7d")
    (world.folder / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        next(newsbot.crawl(f"{HOST}/", data=world.folder / "file", settings=environment))


def test_a_crawl_checks_its_arguments_before_it_starts(site, world, environment):
    cases: tuple[dict[str, Any], ...] = (
        {"sites": "nonsense"},
        {"sites": []},
        {"feeds": ["https://", "https://a.example/rss"]},
        {"sites": "news.test", "since": "soon"},
        {"sites": "news.test", "max_articles": 0},
        {"sites": "news.test", "follow": ["feeds", "everything"]},
        {"sites": "news.test", "since": date(2026, 11, 20), "until": "2026-11-01"},
    )
    for wrong in cases:
        with pytest.raises(ArgumentError):
            newsbot.crawl(**wrong, settings=environment)


def test_addresses_with_commas_and_blanks_in_lists_stay_whole(site, world, environment):
    urls = [f"{HOST}/7,75398,{n},rada-miasta.html" for n in (1, 2)] + [
        f"{HOST}/story/3,https://b.test/4.html"
    ]
    for n, url in enumerate(urls):
        site.page(url, article_html(n))
    crawl = newsbot.crawl(urls, settings=environment, now=False)
    assert {article.url for article in crawl} == set(urls)


def test_a_crawl_without_an_answer_raises_the_cause(world, environment, monkeypatch, capfd):
    for name in world.web.environment:
        monkeypatch.delenv(name)
    for site in ("http://absent.test/", "http://127.0.0.1/news/1"):
        with pytest.raises(UserError, match=r"no host (could be reached|was contacted): .*(absent|private)"):
            list(newsbot.crawl(site, settings={**environment, "NEWSBOT_PATIENCE": 1}))
    with pytest.raises(UserError, match=r"^no host was contacted: "):
        list(newsbot.crawl("http://127.0.0.1/", settings=environment, progress=True))
    assert "Spider opened" in capfd.readouterr().err


def test_feeds_need_no_rules_folder(site, world, environment):
    urls = serve(site, world, 2)
    absent = {**environment, "NEWSBOT_RULES": str(world.folder / "absent"), "DOWNLOAD_DELAY": 0}
    found = {article.url for article in newsbot.crawl(feeds=[f"{HOST}/feed.xml"], settings=absent)}
    assert found == set(urls)


def test_stored_articles_are_opened_by_folder_or_file_and_never_created(site, world, environment):
    serve(site, world, 1)
    assert len(list(newsbot.crawl("news.test", data=world.data, settings=environment))) == 1
    for place in (world.data, str(world.data / "newsbot.db")):
        with closing(newsbot.open_storage(place)) as storage:
            assert storage.articles.count() == 1
    for place in (world.folder / "absent", world.rules, world.folder / "absent" / "newsbot.db"):
        with pytest.raises(DataError, match="there is no such file"):
            newsbot.open_storage(place)
    assert not (world.folder / "absent").exists()


def test_the_package_shows_its_names_and_the_arguments_of_a_crawl():
    assert {"Article", "crawl", "extract", "open_storage"} <= set(dir(newsbot))
    import_module("newsbot.crawl.scope")  # the package of the same name replaces the function
    assert list(inspect.signature(newsbot.crawl).parameters)[:3] == [
        *("sites", "max_articles", "max_articles_per_site")
    ]


def run(world, *words, **more):
    return subprocess.run(
        [sys.executable, "-m", "scrapy", "article", *words],
        cwd=ROOT,
        env=world.environment(),
        capture_output=True,
        timeout=120,
        check=False,
        **more,
    )


def test_the_command_reads_an_address_a_file_and_standard_input(site, world, tmp_path):
    site.page(f"{HOST}/2026/11/20/council-talks-about-the-old-bridge/", article_html(1))
    fetched = run(world, f"{HOST}/2026/11/20/council-talks-about-the-old-bridge/", "--format", "md")
    assert fetched.stdout.decode().startswith("# Council story number 1 about the bridge\n"), fetched.stderr
    page = tmp_path / "page.html"
    page.write_text(article_html(1))
    assert "Council story" in json.loads(run(world, str(page), "--format", "json").stdout)["title"]
    assert run(world, "-", input=page.read_bytes()).stdout.startswith(b"Council story number 1")
    assert not world.data.exists()


def test_the_command_prints_why_a_page_is_not_an_article(site, world, tmp_path):
    site.page(f"{HOST}/gone/", "gone", status=404)
    gone = run(world, f"{HOST}/gone/")
    assert gone.returncode == 1
    assert b"404" in gone.stderr
    empty = tmp_path / "page.html"
    empty.write_text("<p>short")
    done = run(world, str(empty))
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"not an article (" in done.stderr
    assert run(world, str(tmp_path / "absent.html")).returncode == 2


def test_the_examples_of_the_docs_run(capsys):
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs/python.md").read_text(), re.MULTILINE | re.DOTALL
    )
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), {})
    assert "# Bridge over the Fenland closed for a week" in capsys.readouterr().out
