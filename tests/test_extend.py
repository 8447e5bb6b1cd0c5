"""Scrapy beside newsbot: the examples in docs/extend.md, spiders of others, and commands for one page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest
from scrapy.settings import Settings, default_settings
from scrapy.utils.misc import load_object

from newsbot.apps.transfer.command import copy_books
from newsbot.apps.transfer.copies import Choice
from newsbot.config.apps import active_apps, known_apps
from newsbot.crawl.components import COMPONENTS, REPLACED, not_used
from newsbot.errors import DataUnavailable
from newsbot.spiders.news import NewsSpider
from newsbot.storage.sqlite import SqliteStorage
from testbed.messages import Answer
from testbed.mockserver import MockServer
from tests.crawls import ROOT, Crawl, World, article_html
from tests.newssite import HOST, HTML, serve

PAGE = (ROOT / "docs/extend.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
STORY = f"{HOST}/story/0"


class Project:
    """The project of docs/extend.md."""

    def __init__(self, world: World) -> None:
        self.world, self.folder = world, world.folder / "project"
        for name, text in FILES.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (self.folder / "mine/__init__.py").touch()

    def install(self) -> None:
        """Make the project an installed package, with the entry points of its pyproject.toml."""
        project = tomllib.loads(FILES["pyproject.toml"])["project"]
        made = self.folder / "mine-1.0.dist-info"
        made.mkdir()
        made.joinpath("METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n"
        )
        points = project["entry-points"]["newsbot.apps"]
        lines = [f"{name} = {value}" for name, value in points.items()]
        made.joinpath("entry_points.txt").write_text("\n".join(["[newsbot.apps]", *lines, ""]))

    def run(self, *words: str, **environment: str) -> Crawl:
        """Run a command of scrapy in the project."""
        path = os.pathsep.join((str(self.folder), str(ROOT)))
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", *words],
            cwd=self.folder,
            env=self.world.environment(PYTHONPATH=path, NEWSBOT_RULES=str(self.world.rules), **environment),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Crawl(done.returncode, done.stdout, done.stderr, {})


@pytest.fixture
def project(site, world) -> Project:
    serve(site, world, 2)
    return Project(world)


def test_the_page_has_all_examples() -> None:
    assert set(FILES) == {
        *("scrapy.cfg", "mine/settings.py", "mine/pipelines.py", "mine/middlewares.py"),
        *("mine/spiders.py", "mine/exporters.py", "pyproject.toml", "mine/app.py", "mine/headlines.py"),
        *(
            "mine/follower.py",
            "mine/reader.py",
            "mine/alerts.py",
            "mine/labels.py",
            "mine/storage.py",
            "mine/picks.py",
            "mine/signs.py",
            "mine/pages.py",
        ),
    }
    assert all(len(text.splitlines()) <= 40 for text in FILES.values())


def test_the_news_crawl_uses_the_components_of_the_project(project, site):
    referers = []

    def story(request):
        referers.append(request.headers.get("referer"))
        return Answer(body=article_html(5).encode(), headers=HTML)

    site.page(f"{HOST}/story/0", story)
    crawl = project.run("crawl", "bridges", "-a", "sites=news.test")
    assert crawl.code == 0, crawl.err
    assert [article.tags[-1:] for article in project.world.articles()] == [["long"], ["long"]]
    assert referers == ["https://monitor.example/about"]
    lines = (project.folder / "out/bridges.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(lines) == sorted(article.title for article in project.world.articles())


@pytest.mark.parametrize(("spider", "title"), [("titles", "number 0"), ("prices", "number 1")])
def test_spiders_of_others_store_nothing(project, spider, title):
    crawl = project.run("crawl", spider, "-O", "items.jsonl")
    assert crawl.code == 0, crawl.err
    [item] = map(json.loads, (project.folder / "items.jsonl").read_text(encoding="utf-8").splitlines())
    assert title in item["title"]
    assert "Traceback" not in crawl.err
    assert spider == "prices" or not project.world.data.exists()
    if spider == "prices":
        assert project.world.articles() == []


def test_spiders_are_made_and_run_as_in_every_project(project):
    made = project.run("genspider", "other", "news.test")
    assert made.code == 0, made.err
    assert "spider" in made.out
    path = project.folder / "one.py"
    path.write_text(
        "import scrapy\nclass One(scrapy.Spider):\n    name = 'one'\n"
        f"    start_urls = ['{STORY}']\n"
        "    def parse(self, response):\n        yield {'url': response.url}\n"
    )
    ran = project.run("runspider", "one.py", "-O", "one.json")
    assert ran.code == 0
    assert json.loads((project.folder / "one.json").read_text(encoding="utf-8")) == [{"url": STORY}]
    assert not project.world.data.exists()


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("fetch", STORY), "<h1>Council story number 0"),
        (("fetch", "--spider", "news", STORY), "<h1>Council story number 0"),
        (("shell", "-c", "response.css('h1::text').get()", STORY), "Council story number 0"),
        (("parse", "--spider", "news", "--nocolour", STORY), "'title': 'Council story number 0"),
        (("parse", "--spider", "news", "--nocolour", f"{HOST}/feed.xml"), f"<GET {HOST}/story/1>"),
        (("fetch", "http://paper.news/"), "the domain has the name of a spider"),
    ],
)
def test_commands_for_one_page_print_it_and_store_nothing(site, world, words, shown):
    serve(site, world, 2)
    site.page("http://paper.news/", "<p>the domain has the name of a spider</p>")
    done = world.scrapy(*words)
    assert done.code == 0, done.err
    assert shown in done.out, done.err
    assert not world.data.exists()
    paths = [path for path in site.seen(words[-1].split("/")[2]) if path != "/robots.txt"]
    assert len(paths) == 1


@pytest.mark.parametrize("more", [(), ("--spider", "news")])
def test_view_opens_the_page_in_the_browser_and_stores_nothing(site, world, tmp_path, monkeypatch, more):
    serve(site, world, 1)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\ncat "${{1#file://}}" > {tmp_path}/seen.html\n', encoding="utf-8")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    done = world.scrapy("view", *more, STORY)
    assert done.code == 0, done.err
    assert "Council story number 0" in (tmp_path / "seen.html").read_text(encoding="utf-8")
    assert not world.data.exists()


def test_the_log_says_why_a_page_is_not_an_article(site, world):
    site.page(f"{HOST}/about", "<html><body><p>Short.</p><a href='/story/7'>A story</a></body></html>")
    done = world.scrapy("parse", "--spider", "news", "--nocolour", f"{HOST}/about")
    assert "not an article" in done.err
    assert f"<GET {HOST}/story/7>" in done.out


# --- settings


def test_other_spiders_have_no_component_of_newsbot() -> None:
    settings = Settings()
    settings.setmodule("newsbot.settings")
    plain = Settings({"ROBOTSTXT_OBEY": True, "ROBOTSTXT_USER_AGENT": "newsbot"})
    for name, value in COMPONENTS.items():
        read = Settings.getdict if isinstance(value, dict) else Settings.get
        assert read(settings, name) == read(plain, name), name


def test_the_users_settings_have_precedence() -> None:
    settings = Settings({"DOWNLOAD_TIMEOUT": 7, "ITEM_PIPELINES": {"mine.Pipe": 5}})
    settings.set("ITEM_PIPELINES", {"mine.Pipe": 5, "newsbot.pipelines.near.NearDuplicatePipeline": None})
    NewsSpider.update_settings(settings)
    assert settings.getint("DOWNLOAD_TIMEOUT") == 7
    pipelines = settings.getdict("ITEM_PIPELINES")
    assert (pipelines["mine.Pipe"], pipelines["newsbot.pipelines.store.StorePipeline"]) == (5, 400)
    assert pipelines["newsbot.pipelines.near.NearDuplicatePipeline"] is None
    assert settings["USER_AGENT"].startswith("newsbot/")


def test_settings_without_effect_are_reported(site, world) -> None:
    assert all(hasattr(default_settings, name) for name in REPLACED)
    assert list(not_used(Settings())) == []
    left_out = Settings({"NEWSBOT_APPS": "-signatures", "NEWSBOT_SIGN_KEY": "/key.pem"})
    assert list(not_used(left_out)) == [("NEWSBOT_SIGN_KEY", "NEWSBOT_APPS leaves out the app signatures")]
    serve(site, world, 1)
    crawl = world.crawl("-s", "AUTOTHROTTLE_ENABLED=1", "-s", "DEPTH_LIMIT=3")
    assert "setting not used name=AUTOTHROTTLE_ENABLED; newsbot uses the rule key delay" in crawl.err
    assert "setting not used name=DEPTH_LIMIT; newsbot uses the rule key max_depth" in crawl.err
    assert len(world.articles()) == 1


def test_the_cache_of_scrapy_works(site, world) -> None:
    serve(site, world, 1)
    options = ("-s", "HTTPCACHE_ENABLED=1", "-s", f"HTTPCACHE_DIR={world.folder / 'cache'}")
    world.crawl(*options)
    other = World(world.folder / "other" if (world.folder / "other").mkdir() is None else Path(), world.web)
    other.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    before = len(site.seen())
    other.crawl(*options)
    assert other.urls() == world.urls() == [STORY]
    assert len(site.seen()) == before


@pytest.mark.parametrize("name", ["scrapy.extensions.throttle.AutoThrottle"])
def test_components_that_are_removed_exist(name: str) -> None:
    load_object(name)


# --- apps


@pytest.fixture
def app(project: Project) -> Project:
    project.install()
    return project


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project that is installed and has crawled, for tests that look at its articles."""
    with MockServer() as site:
        world = World(tmp_path_factory.mktemp("crawled"), site)
        serve(site, world, 2)
        project = Project(world)
        project.install()
        crawl = project.run("crawl", "news", "-s", f"MINE_FILE={project.folder / 'changes.jsonl'}")
        assert crawl.code == 0, crawl.err
        yield project


def test_an_app_of_another_package_adds_a_command(crawled):
    shown = crawled.run("headlines", "--limit", "1")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("Council story number")
    assert "Print the newest headlines" in crawled.run("-h").out
    left_out = crawled.run("headlines", NEWSBOT_APPS="-mine")
    assert left_out.code == 2
    assert "Traceback" not in left_out.err


def test_a_field_of_another_package_is_searched_and_counted(crawled):
    found = crawled.run("articles", "counts", "length:short", "length:long", "--by", "length", "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)["length"] == [{}, {"long": 2}]
    shorter = crawled.run("articles", "counts", "length:short", "-s", "MINE_SHORT=100000")
    assert "length:short: 2 articles" in shorter.err  # the index is rebuilt


def test_a_storage_of_another_package_is_chosen_by_its_scheme(crawled, tmp_path):
    def titles(address: str) -> Crawl:
        done: Crawl = crawled.run("headlines", NEWSBOT_DATA=str(tmp_path), MONGO_URI=address)
        return done

    shown = titles(f"file://{(crawled.world.data / 'newsbot.db').absolute()}")
    assert shown.code == 0, shown.err
    assert len(shown.out.splitlines()) == 2
    unknown = titles("mine://somewhere")
    assert (unknown.code, unknown.out) == (1, "")
    assert "write mongodb://host:27017/newsbot" in unknown.err


def test_a_storage_of_another_package_is_crawled_into(app):
    address = f"file://{app.folder / 'news.db'}"
    crawl = app.run("crawl", "news", MONGO_URI=address)
    assert crawl.code == 0, crawl.err
    assert "Traceback" not in crawl.err
    assert len(app.run("headlines", MONGO_URI=address).out.splitlines()) == 2


def test_a_storage_that_fails_while_the_crawl_opens_is_closed(app):
    (app.folder / "mine/storage.py").write_text(
        FILES["mine/storage.py"]
        .replace("    return SqliteStorage", "    storage = SqliteStorage")
        .replace(
            "import SqliteStorage\n", "import SqliteStorage\nfrom newsbot.errors import DataUnavailable\n"
        )
        + "    storage.notes.all = fail\n    return storage\n\n\n"
        "def fail(*names):\n    raise DataUnavailable('the disk is away')\n"
    )
    crawl = app.run("crawl", "news", MONGO_URI=f"file://{app.folder / 'news.db'}")
    assert crawl.code == 1
    assert "data unavailable fault=the disk is away" in crawl.err
    assert "Traceback" not in crawl.err
    assert "Spider closed (data_unavailable)" in crawl.err


def test_a_repository_of_another_package_is_stored_and_moved(crawled, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(crawled.folder))
    mine, picks = import_module("mine.app").APP, import_module("mine.picks")
    monkeypatch.setattr("newsbot.apps.transfer.copies.known_apps", lambda: {"mine": mine})
    given = [picks.Pick(f"https://{site}/a", site) for site in ("one.test", "two.test")]
    with (
        closing(SqliteStorage(tmp_path / "one.db")) as here,
        closing(SqliteStorage(tmp_path / "two.db")) as there,
    ):
        picks.picks_of(here).save(given)
        assert list(picks.picks_of(here).records()) == given
        copy_books(here, there, Choice(sites=("one.test",)), lambda *_: None)
        assert list(picks.picks_of(there).records()) == given[:1]
        with pytest.raises(DataUnavailable, match="data file: this needs data in: MongoDB"):
            here.repository({"MongoDB": "mine.picks:MongoPicks"})


def test_a_follower_of_another_package_gets_all_articles_of_a_crawl_once(crawled):
    file = crawled.folder / "changes.jsonl"
    crawl = crawled.run("crawl", "news", "-s", f"MINE_FILE={file}")
    assert crawl.code == 0, crawl.err
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    titles = [row["article"]["title"] for row in rows]
    assert len(titles) == 2
    assert sorted(titles) == sorted(article.title for article in crawled.world.articles())


def test_a_reader_of_another_package_reads_its_kind_of_source(app, site):
    app.world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/api/posts\n")
    posts = [{"address": f"{HOST}/story/1", "title": "Council story number 1"}]
    site.page(f"{HOST}/api/posts", json.dumps(posts), headers={"Content-Type": "application/json"})
    crawl = app.run("crawl", "news")
    assert crawl.code == 0, crawl.err
    assert app.world.urls() == [f"{HOST}/story/1"]


def test_a_fault_of_a_reader_is_an_error_of_its_source(app, site):
    app.world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/api/posts\n")
    site.page(f"{HOST}/api/posts", '[{"title": "A post without an address"}]')
    crawl = app.run("crawl", "news")
    assert f"reader=mine.reader.Posts failed url={HOST}/api/posts error=KeyError: 'address'" in crawl.err
    reader = app.folder / "mine/reader.py"
    reader.write_text(
        FILES["mine/reader.py"].replace("ttl=60.0", 'ttl="soon"').replace('post["address"]', "'/a'")
    )
    wrong = app.run("crawl", "news", NEWSBOT_DATA=str(app.folder / "other"))
    assert "reader=mine.reader.Posts failed" in wrong.err
    assert "ttl is 'soon'" in wrong.err
    for done in (crawl, wrong):
        assert "Traceback" not in done.err
        assert "errors=1" in done.err
    reader.write_text(FILES["mine/reader.py"].replace("READER = Posts()", "READER = Posts"))
    refused = app.run("crawl", "news")
    assert refused.code != 0
    assert "the app mine: mine.reader:READER must be an object (not a class)" in refused.err
    assert "Traceback" not in refused.err


def test_the_project_can_be_installed_after_a_crawl(app):
    for name in ("data", "rules", "out"):
        (app.folder / name).mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", "import setuptools; setuptools.setup()", "egg_info"],
        cwd=app.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (app.folder / "mine.egg-info/top_level.txt").read_text() == "mine\n"


def test_an_alert_rule_of_another_package_is_applied(crawled):
    found = json.loads(crawled.run("alerts", "--json").out)
    assert "idle" in json.dumps(found)
    off = crawled.run("alerts", "--json", "-s", "NEWSBOT_ALERTS_OFF=idle")
    assert "no page is waiting" not in off.out
    assert "is not an alert rule" in crawled.run("alerts", "-s", "NEWSBOT_ALERTS_OFF=idel").err


APP = FILES["mine/app.py"]


def refused(done: Crawl, *texts: str) -> None:
    """Check that a command has failed with one message that has these texts."""
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    for text in texts:
        assert text in done.err


def test_an_app_that_cannot_be_loaded_is_one_line(app):
    (app.folder / "mine/app.py").write_text("import nothing_of_this_name\n")
    for words in (("crawl", "news"), ("sources",)):
        done = app.run(*words)
        assert done.code != 0
        assert "the app mine of the package mine cannot be loaded (ModuleNotFoundError" in done.err
        assert "NEWSBOT_APPS=-mine" in done.err
        assert "Traceback" not in done.err
    assert app.run("crawl", "news", NEWSBOT_APPS="-mine").code == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', "mine.headlines:ACTIONS")', ")", "must be Mapping[str, tuple[str, str, str]]"),
        (
            '("mine.follower:followers",)',
            '("mine.follower:followers")',
            "must be tuple[str, ...]; a tuple of",
        ),
        ('{"idle": "mine.alerts:idle"}', '["mine.alerts:idle"]', "must be Mapping[str, str]"),
        ('{"data file": "mine.picks:SqlitePicks"}', '"mine.picks:SqlitePicks"', "repositories={'picks'"),
        ('package="mine"', 'package="mine", spiders="mine.gone"', "there is no module mine.gone"),
        (
            'package="mine"',
            'package="mine", components={"EXTENSIONS": {"mine.gone.Part": 1}}',
            "there is no module mine.gone",
        ),
        ('package="mine"', 'package="mine", needs=("serch",)', "is not an app (did you mean 'search'?)"),
        ('"headlines"', '"search"', "commands: search already has 'search'"),
        ('"headlines"', '"crawl"', "commands: Scrapy already has 'crawl'"),
        ('"headlines"', '"shell"', "commands: Scrapy already has 'shell'"),
        ('{"file":', '{"mongodb":', "storages: mongodb already has 'mongodb'"),
        ('{"length":', '{"form":', "labels: search already has 'form'"),
        ('{"picks":', '{"checks":', "repositories: monitor already has 'checks'"),
    ],
)
def test_an_app_that_is_not_valid_is_one_line(project, old, new, message):
    project.install()
    assert old in APP
    (project.folder / "mine/app.py").write_text(APP.replace(old, new))
    done = project.run("sources")
    assert done.code != 0
    assert "Traceback" not in done.err
    assert "the app mine of the package mine cannot be loaded (" in done.err
    assert message in done.err
    assert "NEWSBOT_APPS=-mine" in done.err


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("mine.headlines:ACTIONS", (("headlines",), ("headlines", "-h"), ("completion", "bash"))),
        ("mine.reader:READER", (("crawl", "news"),)),
        ("mine.follower:followers", (("crawl", "news"),)),
        ("mine.alerts:idle", (("crawl", "news"), ("alerts",))),
        ("mine.labels:Length", (("search", "council"),)),
        ("mine.signs:signs", (("alerts",),)),
        ("mine.pages:add", (("serve", "--port", "0"),)),
        ("mine.storage:open_file", (("sources", "-s", "MONGO_URI=file:///tmp/nothing"),)),
    ],
)
def test_an_import_path_of_an_app_that_is_wrong_is_one_line(app, crawled, path, words):
    module, name = path.split(":")
    for wrong, error in (
        (f"mine.gone:{name}", "ModuleNotFoundError: No module named 'mine.gone'"),
        (f"{module}:gone", f"AttributeError: module '{module}' has no attribute 'gone'"),
    ):
        (app.folder / "mine/app.py").write_text(APP.replace(path, wrong))
        for one in words:
            done = app.run(*one, NEWSBOT_DATA=str(crawled.world.data))
            refused(done, f"{wrong} of the app mine cannot be loaded ({error})", "NEWSBOT_APPS=-mine")


def test_the_function_of_an_action_that_is_missing_is_one_line(app):
    actions = FILES["mine/headlines.py"]
    (app.folder / "mine/headlines.py").write_text(actions.replace(", show,", ', "mine.gone:run",'))
    refused(app.run("headlines"), "mine.gone:run of the app mine cannot be loaded (ModuleNotFoundError")


@pytest.mark.parametrize("text", [None, "- title: Mine\n  settings: [{name: MINE, kind: colour}]\n", "- ["])
def test_settings_of_an_app_that_cannot_be_read_are_one_message(app, text):
    (app.folder / "mine/app.py").write_text(APP.replace('package="mine"', 'package="mine", settings=True'))
    if text is not None:
        (app.folder / "mine/settings.yaml").write_text(text)
    for words in (("crawl", "news"), ("sources",)):
        message = "the file settings.yaml of the app mine cannot be loaded ("
        refused(app.run(*words), message, "NEWSBOT_APPS=-mine")


def test_an_app_that_is_off_because_of_what_it_needs_says_so(app):
    crawl = app.run("crawl", "news", "-s", "NEWSBOT_APPS=-followers")
    assert crawl.code == 0, crawl.err
    assert "mine (needs followers)" in crawl.err
    done = app.run("headlines", "-s", "NEWSBOT_APPS=-followers")
    refused(done, "NEWSBOT_APPS leaves out the app mine, which needs followers")


def test_a_crawl_with_a_subclass_of_the_news_spider_runs_followers_and_alerts(app, site):
    site.page(f"{HOST}/story/0", lambda _: Answer(body=article_html(0).encode(), headers=HTML, delay=3.0))
    file = app.folder / "changes.jsonl"
    alerts = ("-s", "NEWSBOT_ALERT_EVERY=0.5", "-s", "NEWSBOT_ALERT_DISK=1000000000")
    crawl = app.run("crawl", "bridges", "-s", f"MINE_FILE={file}", *alerts)
    assert crawl.code == 0, crawl.err
    assert "alert event=began rule=disk" in crawl.err
    assert len(file.read_text(encoding="utf-8").splitlines()) == len(app.world.articles()) == 2


@pytest.mark.parametrize(
    ("apps", "message"), [("-serach", "did you mean 'search'"), ("-search", "which needs")]
)
def test_names_of_apps_are_checked(world, apps, message):
    done = world.scrapy("serve", "-s", f"NEWSBOT_APPS={apps}")
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("chosen", "used"),
    [
        ("spam", {"operations", "progress", "spam"}),
        ("hub,-operations", {"followers", "progress", "push", "signatures", "team"}),
        (["team", "push"], {"team", "push"}),
        ("", known_apps().keys()),
        ("spam,sinks,-search", {"followers", "operations", "progress", "spam"}),
    ],
)
def test_an_app_is_used_with_the_apps_that_it_needs(chosen, used):
    assert {app.name for app in active_apps(chosen)} == set(used)


def test_a_crawl_works_without_all_apps(site, world):
    serve(site, world, 2)
    apps = ",".join(f"-{name}" for name in known_apps())
    crawl = world.crawl("-s", f"NEWSBOT_APPS={apps}")
    assert crawl.code == 0, crawl.err
    assert len(world.articles()) == 2
    assert "newsbot.apps" not in world.scrapy("settings", "--get", "EXTENSIONS").out
