"""Complete crawls of pages whose text is made by scripts, with a real Chromium that has no network access."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from newsbot.apps.rendering.middleware import RenderTrials, find_browser
from newsbot.clock import DAY
from newsbot.errors import ArgumentError
from newsbot.storage.sqlite import SqliteStorage
from testbed.loopback import LoopbackServer
from testbed.messages import Answer
from testbed.mockserver import MockServer
from tests.certificates import self_signed
from tests.crawls import ROOT, Crawl, World, article_html, feed_xml

SITE = "http://news.test"
FEED = f"{SITE}/feed.xml"
SHELL = "<!doctype html><html lang='en'><title>News</title><body><div id='app'></div>{more}</body></html>"
APP = """
fetch('/api' + location.pathname).then(answer => answer.json()).then(story => {
  document.title = story.title;
  document.getElementById('app').innerHTML = story.html;
});
"""
RSS = {"Content-Type": "application/rss+xml"}
JS = {"Content-Type": "text/javascript"}
JSON = {"Content-Type": "application/json"}


def story(number: int) -> str:
    """Return the JSON of a story, as from the site's API."""
    title = f"Council story number {number} about the bridge"
    return json.dumps({"title": title, "html": article_html(number).partition("<body>")[2]})


def shells(site, numbers=(1,), app=APP, more="", host="news.test"):
    """Register pages without text, and the script and the API that fill them."""
    pages = [f"http://{host}/2026/story-{number}" for number in numbers]
    site.page(f"http://{host}/feed.xml", feed_xml(pages), headers=RSS)
    site.page(f"http://{host}/app.js", app, headers=JS)
    for number, page in zip(numbers, pages, strict=True):
        site.page(page, SHELL.format(more="<script src='/app.js'></script>" + more))
        site.page(f"http://{host}/api/2026/story-{number}", story(number), headers=JSON)
    return pages


def add_rule(world, rule="render: true\n", host="news.test"):
    feed = f"http://{host}/feed.xml"
    world.rule(host, f"domain: {host}\nfeeds: {feed}\narticle: ^/2026/\nfollow: feeds\n{rule}")


def crawl(folder, site, *arguments, rule="render: true\n", **environment):
    world = World(folder, site)
    add_rule(world, rule)
    return world, world.crawl("-a", "mode=once", "-s", "NEWSBOT_ALLOW_PRIVATE=1", *arguments, **environment)


def why(world, url):
    command = [sys.executable, "-m", "scrapy", "why", url]
    return subprocess.run(
        command, cwd=ROOT, env=world.environment(), check=True, capture_output=True, text=True
    ).stdout


@dataclass
class Shared:
    """One crawl of many sites with NEWSBOT_RENDER=auto: tests with the same settings share its browser."""

    site: MockServer
    world: World
    done: Crawl
    keys: list[str | None]
    """What the API of another origin got."""
    ear: Ear

    def urls(self, host: str) -> list[str]:
        """Return the URLs of the stored articles of one host."""
        return [url for url in self.world.urls() if f"//{host}/" in url]

    def note(self, host: str) -> dict[str, Any]:
        """Return what the workers know about rendering of one host."""
        with self.world.storage() as storage:
            return storage.notes.all("rendering")[host]


PORT_PROBE = "fetch('http://other.test:8080/port').catch(() => 0);"
FILE_PROBE = """
const show = text => document.body.append(text);
fetch('file://%(secret)s').then(answer => answer.text()).then(show).catch(() => show('no file'));
const frame = document.createElement('iframe');
frame.src = 'file://%(secret)s';
frame.onload = () => { try { show(frame.contentDocument.body.textContent); } catch (error) {} };
document.body.append(frame);
"""
OTHER_API = "fetch('http://api.test' + location.pathname, {headers: {'X-Key': '1'}, credentials: 'include'})"


def lists_made_by_scripts(site, world, host, number, rule):
    (page,) = shells(site, [number], APP.replace("fetch", "location.pathname.length > 1 && fetch"), host=host)
    link = f"<p><a href='{page}'>{'The council talked about the bridge over the river. ' * 6}</a></p>"
    site.page(f"http://{host}/", SHELL.format(more="<script src='/front.js'></script>"))
    site.page(f"http://{host}/front.js", f'document.getElementById("app").innerHTML = "{link}";', headers=JS)
    world.rule(host, f"domain: {host}\nsections: http://{host}/\narticle: ^/2026/\nfollow: sections\n{rule}")


def site_with_a_wrong_certificate(folder):
    page = "https://tls.test/2026/story-17"
    answers = {
        "/feed.xml": (feed_xml([page]), "application/rss+xml"),
        "/2026/story-17": (SHELL.format(more="<script src='/app.js'></script>"), "text/html"),
        "/app.js": (APP, "text/javascript"),
        "/api/2026/story-17": (story(17), "application/json"),
    }

    def secure(request):
        body, kind = answers.get(request.path, ("", ""))
        return Answer(body=body.encode(), headers={"Content-Type": kind}) if body else Answer(status=404)

    return LoopbackServer(secure, tls=self_signed(folder, "bank.example"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    secret = folder / "secret.txt"
    secret.write_text("nobody may read this", encoding="utf8")
    keys = []

    def answer(request):
        keys.append(request.headers.get("x-key"))
        return Answer(body=story(8).encode(), headers=JSON)

    ear = Ear()
    with MockServer() as site, site_with_a_wrong_certificate(folder) as secure:
        world = World(folder, site)
        for host, numbers, app, rule in [
            ("read.test", range(1, 4), APP, "render: true\n"),
            ("robots.test", [4], APP, "render: true\n"),
            ("delay.test", [5], APP, "render: true\ndelay: 1\n"),
            ("guarded.test", [6], PROBES % ear.port + APP, "render: true\n"),
            ("port.test", [7], PORT_PROBE + APP, "render: true\n"),
            (
                "files.test",
                [8],
                APP.replace("fetch('/api' + location.pathname)", OTHER_API) + FILE_PROBE % {"secret": secret},
                "render: true\n",
            ),
            ("moved.test", [9], APP, "render: true\n"),
            ("auto.test", [10], APP, ""),
            ("vain.test", range(20, 28), "document.title = 'no text';", "concurrency: 1\n"),
            ("off.test", [12], APP, "render: false\n"),
        ]:
            shells(site, numbers, app, host=host)
            add_rule(world, rule, host)
        lists_made_by_scripts(site, world, "lists.test", 13, "render: true\n")
        lists_made_by_scripts(site, world, "autolists.test", 14, "")
        world.rule(
            "tls.test",
            "domain: tls.test\nfeeds: https://tls.test/feed.xml\narticle: ^/2026/\nfollow: feeds\n"
            "render: true\ntls: ignore\n",
        )
        site.robots("User-agent: *\nDisallow: /api/\n", host="robots.test")
        site.page("http://api.test/2026/story-8", answer)
        site.page("http://hop.test/hop", lambda _: redirect(f"http://127.0.0.1:{ear.port}/hop"))
        site.page("http://moved.test/feed.xml", feed_xml(["http://moved.test/2026/old"]), headers=RSS)
        site.page("http://moved.test/2026/old", lambda _: redirect("http://moved.test/2026/story-9"))
        whole = site.page(
            "http://auto.test/2026/story-11", article_html(11, extra="<script src='/never.js'></script>")
        )
        site.page(
            "http://auto.test/feed.xml", feed_xml(["http://auto.test/2026/story-10", whole]), headers=RSS
        )
        done = world.crawl(
            *(
                "-a",
                "mode=once",
                "-s",
                "NEWSBOT_RENDER_SECONDS=15",
                "-s",
                f"NEWSBOT_SAMPLES={folder}/samples",
            ),
            NEWSBOT_RENDER="auto",
            https_proxy=secure.address,
        )
        assert done.code == 0, done.err
        yield Shared(site, world, done, keys, ear)
    ear.close()


def redirect(to):
    return Answer(status=302, headers={"Location": to})


def test_a_page_is_read_after_its_scripts_have_run(shared):
    pages = [f"http://read.test/2026/story-{number}" for number in range(1, 4)]
    assert shared.urls("read.test") == pages, shared.done.err
    assert any("A vote is planned" in one.text for one in shared.world.articles() if one.url == pages[0])
    fetched = [event for event in shared.world.events(pages[0]) if event["event"] == "fetched"]
    assert [event["rendered"] for event in fetched] == [True]
    assert shared.site.seen("read.test").count("/2026/story-1") == 1  # the browser does not fetch it again
    assert shared.site.seen("read.test").count("/app.js") == 1  # three pages


def test_auto_renders_pages_without_text_and_remembers_that_it_helped(shared):
    assert shared.urls("auto.test") == [f"http://auto.test/2026/story-{one}" for one in (10, 11)]
    assert shared.site.requests("/never.js") == []
    assert (shared.note("auto.test")["helped"], shared.note("auto.test")["vain"]) == (1, 0)


def test_auto_stops_rendering_a_site_if_it_does_not_help(shared):
    assert shared.urls("vain.test") == []
    assert shared.note("vain.test")["vain"] >= 3
    assert shared.done.stat("render/left") > 0, shared.done.err
    again = shared.world.crawl("-a", "sites=vain.test", "-a", "now=yes", NEWSBOT_RENDER="auto")
    assert again.stat("render/pages") == 0
    output = why(shared.world, "http://vain.test/2026/story-27")
    assert (
        "remedy        scripts seem to produce its text; to run them, set render: true in the rule" in output
    )


def test_auto_does_not_render_a_site_whose_rule_forbids_it(shared):
    assert shared.urls("off.test") == []
    assert "render: true in the rule" in why(shared.world, "http://off.test/2026/story-12")
    assert "/app.js" not in shared.site.seen("off.test")


@pytest.mark.parametrize(("rule", "mode"), [("", "rules"), ("render: true\n", "off")])
def test_pages_are_rendered_only_if_requested(tmp_path, site, rule, mode):
    [page] = shells(site)
    world, done = crawl(tmp_path, site, rule=rule, NEWSBOT_RENDER=mode)
    assert world.articles() == []
    assert ("render: true in the rule" in why(world, page)) == (mode != "off")
    assert done.stat("render/pages") == 0
    assert site.requests("/app.js") == []


def test_a_home_page_without_links_counts_as_made_by_scripts(tmp_path, site):
    home = site.page(f"{SITE}/", SHELL.format(more="<script src='/app.js'></script>"))
    world = World(tmp_path, site)
    done = world.crawl("-a", f"url={home}", "-s", "NEWSBOT_ALLOW_PRIVATE=1")
    assert "scripts 1" in done.err
    assert "remedy        scripts seem to produce its text; to run them, set render: true in the rule" in why(
        world, home
    )


def test_scripts_may_read_apis_of_other_origins_but_not_files(shared):
    assert len(shared.urls("files.test")) == 1, shared.done.err
    assert shared.keys == ["1"]
    pages = [file.read_text(encoding="utf8") for file in (shared.world.folder / "samples").rglob("*.html")]
    (page,) = [page for page in pages if "no file" in page]
    assert "Council story number 8 about" in page
    assert not [page for page in pages if "nobody may read" in page]


def test_robots_txt_applies_to_requests_of_scripts(shared):
    assert shared.urls("robots.test") == []
    assert not [path for path in shared.site.seen("robots.test") if path.startswith("/api/")]
    assert shared.done.stat("render/refused/robots") == 1


def test_requests_of_scripts_obey_the_delay_of_the_host(shared):
    assert len(shared.urls("delay.test")) == 1, shared.done.err
    wanted = ("/2026/story-5", "/app.js", "/api/2026/story-5")
    times = [one.at for one in shared.site.log if one.host == "delay.test" and one.path in wanted]
    assert len(times) == 3
    assert all(later - earlier >= 0.9 for earlier, later in itertools.pairwise(times)), times


PROBES = """
const port = %d, to = 'http://127.0.0.1:' + port;
const safely = act => { try { act(); } catch (error) {} };
safely(() => fetch(to + '/fetch').catch(() => 0));
safely(() => fetch('http://localhost:' + port + '/name').catch(() => 0));
safely(() => fetch('http://hop.test/hop').catch(() => 0));
safely(() => navigator.sendBeacon(to + '/beacon', 'x'));
safely(() => { new WebSocket('ws://127.0.0.1:' + port + '/socket'); });
safely(() => { new EventSource(to + '/events'); });
safely(() => { new Image().src = to + '/image'; });
safely(() => { new Worker(URL.createObjectURL(new Blob(["fetch('" + to + "/worker')"]))); });
safely(() => { new SharedWorker(URL.createObjectURL(new Blob(["fetch('" + to + "/shared')"]))); });
safely(() => {
  const peer = new RTCPeerConnection({iceServers: [
    {urls: 'stun:127.0.0.1:' + port},
    {urls: 'turn:127.0.0.1:' + port + '?transport=tcp', username: 'a', credential: 'b'}]});
  peer.createDataChannel('x');
  peer.createOffer().then(offer => peer.setLocalDescription(offer));
});
safely(() => window.open(to + '/window'));
for (const [tag, name, rel] of [
    ['iframe', 'src'], ['link', 'href', 'prefetch'], ['link', 'href', 'preconnect'],
    ['link', 'href', 'stylesheet'], ['object', 'data'], ['video', 'src'], ['script', 'src']]) {
  const element = document.createElement(tag);
  if (rel) element.rel = rel;
  element[name] = to + '/' + tag;
  document.head.append(element);
}
setTimeout(() => { location = to + '/elsewhere'; }, 300);
"""


class Ear:
    """Listens on a port of this machine, by TCP and UDP."""

    def __init__(self):
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        for one in (self.tcp, self.udp):
            one.settimeout(0.2)

    def heard(self):
        try:
            return self.tcp.accept()[0].recv(200)
        except TimeoutError:
            pass
        try:
            return self.udp.recv(200)
        except TimeoutError:
            return None

    def close(self):
        self.tcp.close()
        self.udp.close()


def test_a_page_cannot_reach_hosts_that_the_crawl_may_not_request(shared):
    assert len(shared.urls("guarded.test")) == 1, shared.done.err
    assert shared.ear.heard() is None
    assert [one for one in shared.site.log if one.host.startswith(("127.", "localhost"))] == []
    assert shared.done.stat("render/refused/private_address") >= 3


def test_the_browser_has_no_network_if_the_crawl_may_request_private_addresses(tmp_path, site):
    ear = Ear()
    try:
        shells(site, app=PROBES % ear.port + APP)
        site.page("http://hop.test/hop", lambda _: redirect(f"http://127.0.0.1:{ear.port}/hop"))
        world, done = crawl(tmp_path, site, "-s", "NEWSBOT_RENDER_SECONDS=15")
        assert len(world.articles()) == 1, done.err
        assert ear.heard() is None
    finally:
        ear.close()
    # only requests of the crawl itself, of types that pages need
    through_proxy = [one.path for one in site.log if one.host.startswith(("127.", "localhost"))]
    assert {path.strip("/") for path in through_proxy} <= {
        "fetch",
        "name",
        "hop",
        "worker",
        "script",
        "robots.txt",
    }


def test_a_name_with_a_private_address_is_refused_by_the_resolver(tmp_path, site):
    """The crawl has no HTTP proxy. The resolver allows one local name, as it allows the name of a proxy."""
    here = f"news.test:{site.port}"
    page, feed = f"http://{here}/2026/story-1", f"http://{here}/feed.xml"
    site.page("/feed.xml", feed_xml([page]), headers={"Content-Type": "application/rss+xml"})
    site.page("/2026/story-1", SHELL.format(more="<script src='/app.js'></script>"))
    site.page("/app.js", "fetch('http://inside.test/secret').catch(() => 0);" + APP, headers=JS)
    site.page("/api/2026/story-1", story(1), headers=JSON)
    world = World(tmp_path, None)
    world.rule(
        "news.test", f"domain: news.test\nfeeds: {feed}\narticle: ^/2026/\nfollow: feeds\nrender: true\n"
    )
    resolver = "tests.named_addresses.NamedAddresses"
    done = world.crawl(
        "-a", "mode=once", "-s", f"TWISTED_DNS_RESOLVER={resolver}", ftp_proxy="http://news.test"
    )
    assert world.urls() == [page], done.err
    refused = "downloader/exception_type_count/scrapy.exceptions.CannotResolveHostError"
    assert done.stats[refused] == 1  # its robots.txt was requested first
    assert done.stat("render/refused/robots_unreachable") == 1


def test_scripts_cannot_make_the_crawl_request_other_ports(shared):
    assert len(shared.urls("port.test")) == 1, shared.done.err
    assert shared.site.seen("other.test:8080") == []
    assert shared.done.stat("render/refused/port") == 1


@pytest.mark.parametrize(("host", "number"), [("lists.test", 13), ("autolists.test", 14)])
def test_lists_are_rendered_too(shared, host, number):
    assert shared.urls(host) == [f"http://{host}/2026/story-{number}"], shared.done.err


def test_a_redirect_is_followed_before_the_page_is_rendered(shared):
    assert shared.urls("moved.test") == ["http://moved.test/2026/story-9"], shared.done.err


def test_certificates_are_ignored_for_scripts_if_the_rule_says_so(shared):
    assert shared.urls("tls.test") == ["https://tls.test/2026/story-17"], shared.done.err


def wrapper(folder, lines):
    """Return a program that runs these lines of shell and then Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    program = folder / "browser"
    program.write_text(f'#!/bin/sh\n{lines}\nexec {found} "$@"\n', encoding="utf8")
    program.chmod(0o755)
    return str(program)


def test_a_page_is_tried_again_in_a_new_browser_after_a_crash(tmp_path, site):
    """The browser crashes once at the first page, and each time at the second."""
    pages = shells(site, [1, 2])
    started = tmp_path / "started"
    crashes = {"/api/2026/story-1": 1, "/api/2026/story-2": 9}

    def api(request):
        if crashes[request.path]:
            crashes[request.path] -= 1
            os.kill(int(started.read_text().split()[-1]), signal.SIGKILL)
        return Answer(body=story(1).encode(), headers=JSON)

    for path in crashes:
        site.page(SITE + path, api)
    program = wrapper(tmp_path, f"echo $$ >> {started}")
    world, done = crawl(
        *(tmp_path, site, "-s", "NEWSBOT_PATIENCE=0"),
        rule="render: true\nconcurrency: 1\n",
        NEWSBOT_BROWSER=program,
        NEWSBOT_RETRY_SCALE="100",
    )
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert world.urls() == pages[:1], done.err
    assert crashes == {"/api/2026/story-1": 0, "/api/2026/story-2": 7}  # each page is tried twice
    assert len(started.read_text().split()) in (3, 4)  # it depends on the order of the pages
    assert done.stat("errors/render") == 1
    assert world.events(pages[1])[-1]["cause"] == "render"


HOSTILE = {
    "never ends": "for (;;);",
    "always asks": "setInterval(() => fetch('/poll' + Math.random()), 50);",
    "takes memory": "const all = []; for (;;) all.push(new Array(1e6).fill(Math.random()));",
    "asks the reader": "for (;;) alert('well?');",
    "leads elsewhere": "setInterval(() => { location = '/other' + Math.random(); }, 50);",
    "opens windows": "setInterval(() => window.open('about:blank'), 1);",
    "writes for ever": "for (;;) document.body.append('x'.repeat(1e7));",
}


def test_hostile_pages_take_bounded_time_and_do_not_affect_others(tmp_path, site):
    pages = shells(site, range(len(HOSTILE) + 2))
    for page, script in zip(pages[1:-1], HOSTILE.values(), strict=True):
        site.page(page, SHELL.format(more=f"<script>{script}</script>"))
    settings = {"NEWSBOT_PATIENCE": 0, "NEWSBOT_RENDER_SECONDS": 5, "CONCURRENT_REQUESTS": 3}
    arguments = [one for name, value in settings.items() for one in ("-s", f"{name}={value}")]
    world, done = crawl(tmp_path, site, *arguments, NEWSBOT_RETRY_SCALE="100")
    assert done.code == 0, done.err
    assert set(world.urls()) == {pages[0], pages[-1]}, done.err
    assert "Traceback" not in done.err
    assert len([path for path in site.seen() if path.startswith("/poll")]) <= 2 * 60


def test_a_missing_browser_is_reported_in_one_line(tmp_path, site):
    shells(site)
    _, done = crawl(tmp_path, site, NEWSBOT_BROWSER=str(tmp_path / "none"))
    assert (done.code, site.log) == (2, [])
    assert done.err.splitlines()[-1].endswith(f"NEWSBOT_BROWSER={tmp_path}/none: is not a program")
    _, done = crawl(tmp_path, site, PATH=str(Path(sys.executable).parent))
    assert (done.code, site.log) == (2, [])
    assert "render: true" in done.err
    assert "apt-get install chromium" in done.err.splitlines()[-1]
    _, done = crawl(tmp_path, site, rule="", NEWSBOT_RENDER="auto", PATH=str(Path(sys.executable).parent))
    assert done.code == 2
    assert "NEWSBOT_RENDER=auto" in done.err.splitlines()[-1]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match="pip install playwright"):
        find_browser("")


def test_scrapy_article_renders_if_requested(tmp_path, site):
    (page,) = shells(site)
    world = World(tmp_path, site)
    world.rule("news.test")
    command = [sys.executable, "-m", "scrapy", "article", page, "-s", "NEWSBOT_RENDER=auto"]
    environment = world.environment(NEWSBOT_ALLOW_PRIVATE="1")
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "A vote is planned" in done.stdout, done.stderr


def test_a_browser_that_does_not_start_fails_only_the_page(tmp_path, site):
    shells(site)
    world, done = crawl(
        tmp_path,
        site,
        "-s",
        "NEWSBOT_PATIENCE=0",
        NEWSBOT_BROWSER=wrapper(tmp_path, "echo no usable sandbox >&2; exit 1"),
        NEWSBOT_RETRY_SCALE="100",
    )
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert done.stat("errors/ours") == 1
    assert "does not start" in world.events(f"{SITE}/2026/story-1")[-2]["text"]
    assert "does not start" in done.err


def test_workers_share_that_rendering_does_not_help(tmp_path):
    storage = SqliteStorage(tmp_path / "newsbot.db")
    try:
        one, two = RenderTrials(), RenderTrials()
        for worker in (one, two, one):
            assert worker.may_try(storage.notes, "news.test", 100.0)
            worker.saw(storage.notes, "news.test", 100.0, helped=False)
        one.write(storage.notes)
        assert two.may_try(storage.notes, "news.test", 100.0)
        two.write(storage.notes)
        assert not two.may_try(storage.notes, "news.test", 101.0)
        assert two.may_try(storage.notes, "news.test", 100.0 + 31 * DAY)
        two.saw(storage.notes, "news.test", 100.0, helped=True)
        two.write(storage.notes)
        assert RenderTrials().helped(storage.notes, "news.test")
    finally:
        storage.close()
