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
from pathlib import Path

import pytest

from newsbot.apps.rendering.browser import find_browser
from newsbot.clock import DAY
from newsbot.errors import ArgumentError
from newsbot.sites.rendering import RenderTrials
from newsbot.storage.sqlite import SqliteStorage
from testbed.loopback import LoopbackServer
from testbed.messages import Answer
from testbed.mockserver import MockServer
from tests.certificates import self_signed
from tests.crawls import ROOT, World, article_html, feed_xml

SITE = "http://news.test"
FEED = f"{SITE}/feed.xml"
SHELL = "<!doctype html><html lang='en'><title>News</title><body><div id='app'></div>{more}</body></html>"
APP = """
fetch('/api' + location.pathname).then(answer => answer.json()).then(story => {
  document.title = story.title;
  document.getElementById('app').innerHTML = story.html;
});
"""
JS = {"Content-Type": "text/javascript"}
JSON = {"Content-Type": "application/json"}


def story(number: int) -> str:
    """Return the JSON of a story, as from the site's API."""
    title = f"Council story number {number} about the bridge"
    return json.dumps({"title": title, "html": article_html(number).partition("<body>")[2]})


@pytest.fixture
def site():
    with MockServer() as server:
        yield server


def shells(site, numbers=(1,), app=APP, more=""):
    """Register pages without text, and the script and the API that fill them."""
    pages = [f"{SITE}/2026/story-{number}" for number in numbers]
    site.page(FEED, feed_xml(pages), headers={"Content-Type": "application/rss+xml"})
    site.page(f"{SITE}/app.js", app, headers=JS)
    for number, page in zip(numbers, pages, strict=True):
        site.page(page, SHELL.format(more="<script src='/app.js'></script>" + more))
        site.page(f"{SITE}/api/2026/story-{number}", story(number), headers=JSON)
    return pages


def crawl(folder, site, *arguments, rule="render: true\n", **environment):
    world = World(folder, site)
    world.rule("news.test", f"domain: news.test\nfeeds: {FEED}\narticle: ^/2026/\nfollow: feeds\n{rule}")
    return world, world.crawl("-a", "mode=once", "-s", "NEWSBOT_ALLOW_PRIVATE=1", *arguments, **environment)


def why(world, url):
    command = [sys.executable, "-m", "scrapy", "why", url]
    return subprocess.run(
        command, cwd=ROOT, env=world.environment(), check=True, capture_output=True, text=True
    ).stdout


def test_a_page_is_read_after_its_scripts_have_run(tmp_path, site):
    pages = shells(site, range(1, 4))
    world, done = crawl(tmp_path, site)
    assert done.code == 0, done.err
    assert world.urls() == pages, done.err
    assert "A vote is planned" in world.articles()[0].text
    fetched = [event for event in world.events(pages[0]) if event["event"] == "fetched"]
    assert [event["rendered"] for event in fetched] == [True]
    assert site.seen("news.test").count("/2026/story-1") == 1  # the browser does not fetch the page again
    assert site.seen("news.test").count("/app.js") == 1  # three pages


def test_auto_renders_pages_without_text_and_remembers_that_it_helped(tmp_path, site):
    pages = shells(site)
    whole = site.page(f"{SITE}/2026/story-9", article_html(9, extra="<script src='/never.js'></script>"))
    site.page(FEED, feed_xml([*pages, whole]), headers={"Content-Type": "application/rss+xml"})
    world, done = crawl(tmp_path, site, rule="", NEWSBOT_RENDER="auto")
    assert world.urls() == [*pages, whole], done.err
    assert (done.stat("render/pages"), done.stat("render/helped")) == (1, 1)
    assert site.requests("/never.js") == []
    with world.storage() as storage:
        note = storage.notes.all("rendering")["news.test"]
    assert (note["helped"], note["vain"]) == (1, 0)


def test_auto_stops_rendering_a_site_if_it_does_not_help(tmp_path, site):
    shells(site, range(1, 9), app="document.title = 'no text';")
    world, done = crawl(tmp_path, site, rule="concurrency: 1\n", NEWSBOT_RENDER="auto")
    assert world.articles() == []
    assert done.stat("render/vain") == done.stat("render/pages") >= 3
    assert done.stat("render/left") > 0, done.err
    _, again = crawl(tmp_path, site, "-a", "now=yes", rule="concurrency: 1\n", NEWSBOT_RENDER="auto")
    assert again.stat("render/pages") == 0
    output = why(world, f"{SITE}/2026/story-8")
    assert (
        "remedy        scripts seem to produce its text; to run them, set render: true in the rule" in output
    )


@pytest.mark.parametrize(
    ("rule", "mode"), [("", "rules"), ("render: true\n", "off"), ("render: false\n", "auto")]
)
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


def test_scripts_may_read_apis_of_other_origins_but_not_files(tmp_path, site):
    secret = tmp_path / "secret.txt"
    secret.write_text("nobody may read this", encoding="utf8")
    probe = f"""
const show = text => document.body.append(text);
fetch('file://{secret}').then(answer => answer.text()).then(show).catch(() => show('no file'));
const frame = document.createElement('iframe');
frame.src = 'file://{secret}';
frame.onload = () => {{ try {{ show(frame.contentDocument.body.textContent); }} catch (error) {{}} }};
document.body.append(frame);
"""
    api = "fetch('http://api.test' + location.pathname, {headers: {'X-Key': '1'}, credentials: 'include'})"
    shells(site, app=APP.replace("fetch('/api' + location.pathname)", api) + probe)
    keys = []

    def answer(request):
        keys.append(request.headers.get("x-key"))
        return Answer(body=story(1).encode(), headers=JSON)

    site.page("http://api.test/2026/story-1", answer)
    samples = tmp_path / "samples"
    world, done = crawl(tmp_path, site, "-s", f"NEWSBOT_SAMPLES={samples}")
    assert len(world.articles()) == 1, done.err
    assert keys == ["1"]
    (page,) = [file.read_text(encoding="utf8") for file in samples.rglob("*.html")]
    assert "no file" in page
    assert "nobody may read" not in page


def test_robots_txt_applies_to_requests_of_scripts(tmp_path, site):
    shells(site)
    site.robots("User-agent: *\nDisallow: /api/\n")
    world, done = crawl(tmp_path, site)
    assert world.articles() == []
    assert not [path for path in site.seen() if path.startswith("/api/")]
    assert done.stat("render/refused/robots") == 1


def test_requests_of_scripts_obey_the_delay_of_the_host(tmp_path, site):
    shells(site)
    world, done = crawl(tmp_path, site, rule="render: true\ndelay: 1\n")
    assert len(world.articles()) == 1, done.err
    times = [one.at for one in site.log if one.path in ("/2026/story-1", "/app.js", "/api/2026/story-1")]
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


@pytest.mark.parametrize("guarded", [True, False])
def test_a_page_cannot_reach_hosts_that_the_crawl_may_not_request(tmp_path, site, guarded):
    """With ``guarded`` the crawl refuses the requests; without it, the browser has no network."""
    ear = Ear()
    try:
        shells(site, app=PROBES % ear.port + APP)
        site.page(
            "http://hop.test/hop",
            lambda _: Answer(status=302, headers={"Location": f"http://127.0.0.1:{ear.port}/hop"}),
        )
        world, done = crawl(tmp_path, site, "-s", f"NEWSBOT_ALLOW_PRIVATE={int(not guarded)}")
        assert len(world.articles()) == 1, done.err
        assert ear.heard() is None
    finally:
        ear.close()
    through_proxy = [one.path for one in site.log if one.host.startswith(("127.", "localhost"))]
    if guarded:
        assert through_proxy == []
        assert done.stat("render/refused/private_address") >= 3
    else:  # only requests of the crawl itself, of types that pages need
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


def test_scripts_cannot_make_the_crawl_request_other_ports(tmp_path, site):
    shells(site, app="fetch('http://other.test:8080/port').catch(() => 0);" + APP)
    world, done = crawl(tmp_path, site, "-s", "NEWSBOT_ALLOW_PRIVATE=0")
    assert len(world.articles()) == 1, done.err
    assert site.seen("other.test:8080") == []
    assert done.stat("render/refused/port") == 1


@pytest.mark.parametrize(("rule", "mode"), [("render: true\n", "rules"), ("", "auto")])
def test_lists_are_rendered_too(tmp_path, site, rule, mode):
    (page,) = shells(site, app=APP.replace("fetch", "location.pathname.length > 1 && fetch"))
    link = f"<p><a href='{page}'>{'The council talked about the bridge over the river. ' * 6}</a></p>"
    site.page(f"{SITE}/", SHELL.format(more="<script src='/front.js'></script>"))
    site.page(f"{SITE}/front.js", f'document.getElementById("app").innerHTML = "{link}";', headers=JS)
    world = World(tmp_path, site)
    world.rule(
        "news.test", f"domain: news.test\nsections: {SITE}/\narticle: ^/2026/\nfollow: sections\n{rule}"
    )
    done = world.crawl("-a", "mode=once", "-s", "NEWSBOT_ALLOW_PRIVATE=1", NEWSBOT_RENDER=mode)
    assert world.urls() == [page], done.err


def test_a_redirect_is_followed_before_the_page_is_rendered(tmp_path, site):
    shells(site)
    site.page(FEED, feed_xml([f"{SITE}/2026/old"]), headers={"Content-Type": "application/rss+xml"})
    site.page(f"{SITE}/2026/old", lambda _: Answer(status=302, headers={"Location": f"{SITE}/2026/story-1"}))
    world, done = crawl(tmp_path, site)
    assert [article.url for article in world.articles()] == [f"{SITE}/2026/story-1"], done.err


def test_certificates_are_ignored_for_scripts_if_the_rule_says_so(tmp_path):
    page, feed = "https://news.test/2026/story-1", "https://news.test/feed.xml"
    answers = {
        "/feed.xml": (feed_xml([page]), "application/rss+xml"),
        "/2026/story-1": (SHELL.format(more="<script src='/app.js'></script>"), "text/html"),
        "/app.js": (APP, "text/javascript"),
        "/api/2026/story-1": (story(1), "application/json"),
    }

    def secure(request):
        body, kind = answers.get(request.path, ("", ""))
        return Answer(body=body.encode(), headers={"Content-Type": kind}) if body else Answer(status=404)

    with LoopbackServer(secure, tls=self_signed(tmp_path, "bank.example")) as server:
        world = World(tmp_path, server)
        rule = (
            f"domain: news.test\nfeeds: {feed}\narticle: ^/2026/\nfollow: feeds\nrender: true\ntls: ignore\n"
        )
        world.rule("news.test", rule)
        done = world.crawl("-a", "mode=once", "-s", "NEWSBOT_ALLOW_PRIVATE=1")
    assert world.urls() == [page], done.err


def wrapper(folder, lines):
    """Return a program that runs these lines of shell and then Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    program = folder / "browser"
    program.write_text(f'#!/bin/sh\n{lines}\nexec {found} "$@"\n', encoding="utf8")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("crashes", [1, 9])
def test_a_page_is_tried_again_in_a_new_browser_after_a_crash(tmp_path, site, crashes):
    shells(site)
    started = tmp_path / "started"
    left = [crashes]

    def api(_):
        if left[0]:
            left[0] -= 1
            os.kill(int(started.read_text().split()[-1]), signal.SIGKILL)
        return Answer(body=story(1).encode(), headers=JSON)

    site.page(f"{SITE}/api/2026/story-1", api)
    program = wrapper(tmp_path, f"echo $$ >> {started}")
    world, done = crawl(
        tmp_path, site, "-s", "NEWSBOT_PATIENCE=0", NEWSBOT_BROWSER=program, NEWSBOT_RETRY_SCALE="100"
    )
    assert done.code == 0, done.err
    assert len(started.read_text().split()) == 2
    assert "Traceback" not in done.err
    if crashes == 1:
        assert world.urls() == [f"{SITE}/2026/story-1"], done.err
    else:
        assert done.stat("errors/render") == 1
        assert world.events(f"{SITE}/2026/story-1")[-1]["cause"] == "render"


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
    settings = {"NEWSBOT_PATIENCE": 0, "NEWSBOT_RENDER_SECONDS": 6, "CONCURRENT_REQUESTS": 3}
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
