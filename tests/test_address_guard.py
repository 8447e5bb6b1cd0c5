"""Pages cannot make the crawler send requests to private addresses."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
from scrapy import Request
from scrapy.resolver import HostResolution, dnscache
from twisted.internet.address import IPv4Address, IPv6Address

from newsbot.crawl import address_guard as resolver
from newsbot.crawl.address_guard import GuardedResolver, is_local, is_public
from newsbot.crawl.failures import Ignored
from newsbot.crawl.visit import ASIDE_KEY, META_KEY, Visit
from newsbot.frontier.base import Entry, Lease
from newsbot.items import Kind
from newsbot.middlewares.addresses import AddressGuardMiddleware
from newsbot.pages.rules import Rule
from newsbot.urls import canonicalize, fingerprint
from tests.crawls import World, article_html, feed_xml

HOST = "http://news.test"

PRIVATE = [
    "http://127.0.0.1/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://10.1.2.3/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://0.0.0.0/",
    "http://224.0.0.1/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://[fec0::1]/",
    "http://[feff::7]/",
    "http://[::127.0.0.1]/",
    "http://[::a00:1]/",
    "http://[64:ff9b:1::808:808]/",
    "http://[::ffff:0:7f00:1]/",
    "http://[::ffff:0:a00:1]/",
    "http://[2606:4700::5efe:7f00:1]/",
    "http://[2606:4700::200:5efe:10.0.0.1]/",
    "http://[3fff::1]/",
    "http://[5f00::1]/",
    "http://192.88.99.1/",
    "http://localhost:9200/",
    "http://LOCALHOST./",
    "http://printer.local/",
    "http://db.internal/",
    "http://intranet/",
    "http://wiki.corp/",
    "http://localhost.localdomain/",
]


def guard(*, allow_private: bool = False) -> AddressGuardMiddleware:
    rule = Rule(domain="news.test", feeds=("http://news.test:8080/feed.xml",))
    return AddressGuardMiddleware(allow_private, lambda _: rule)


@pytest.mark.parametrize("url", PRIVATE)
def test_private_addresses_are_refused_however_they_are_written(url):
    with pytest.raises(Ignored) as caught:
        guard().process_request(Request(url))
    assert caught.value.cause == "private_address"


@pytest.mark.parametrize("url", PRIVATE[:3])
def test_a_setting_allows_them(url):
    guard(allow_private=True).process_request(Request(url))


@pytest.mark.parametrize(
    "host",
    [
        "[::ffff:5db8:d822]",
        "[64:ff9b::5db8:d822]",
        "[2606:2800::5efe:5db8:d822]",
        "93.184.216.34",
        "2606:2800:220:1:248:1893:25c8:1946",
        "example.org",
        "lenta.ru",
    ],
)
def test_public_hosts_pass(host):
    assert not is_local(host)


def test_other_schemes_are_refused():
    with pytest.raises(Ignored) as caught:
        guard(allow_private=True).process_request(Request("file:///etc/passwd"))
    assert caught.value.cause == "bad_url"


def test_is_public_refuses_invalid_addresses():
    with pytest.raises(ValueError, match="address"):
        is_public("example.org")


class System:
    """Stands for the resolver of the system. It answers at once, or never."""

    def __init__(self, names: dict[str, list[str]], *, silent: bool = False) -> None:
        self.names, self.silent = names, silent
        self.nameResolver = self
        self.asked: list[str] = []

    def resolveHostName(self, receiver, name, *more, **named):  # noqa: N802 (Twisted)
        self.asked.append(name)
        resolution = HostResolution(name)
        receiver.resolutionBegan(resolution)
        for found in self.names.get(name, []):
            kind = IPv6Address if ":" in found else IPv4Address
            receiver.addressResolved(kind("TCP", found, 80))
        if not self.silent:
            receiver.resolutionComplete()
        return resolution


class Receiver:
    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.complete = 0

    def resolutionBegan(self, resolution):  # noqa: N802 (Twisted)
        assert resolution.name

    def addressResolved(self, address):  # noqa: N802 (Twisted)
        self.addresses.append(address.host)

    def resolutionComplete(self):  # noqa: N802 (Twisted)
        self.complete += 1


def resolved(name: str, system: System, **attributes: object) -> list[str]:
    """Return the addresses that the guard lets pass."""
    guarded = GuardedResolver(cast("Any", system), 100)
    for key, value in {"checks": True, **attributes}.items():
        setattr(guarded, key, value)
    receiver = Receiver()

    async def ask() -> None:
        guarded.resolveHostName(cast("Any", receiver), name)
        while not receiver.complete:  # noqa: ASYNC110 (Twisted's interface has no event)
            await asyncio.sleep(0)

    asyncio.run(ask())
    assert receiver.complete == 1
    return receiver.addresses


@pytest.fixture(autouse=True)
def no_names(monkeypatch):
    monkeypatch.setattr(resolver, "refused", set())
    dnscache.clear()


NAMES = {
    "public.test": ["2606:2800::1", "93.184.216.34"],
    "private.test": ["10.0.0.7", "fd00::7"],
    "both.test": ["127.0.0.1", "93.184.216.34"],
}


@pytest.mark.parametrize(
    ("name", "found", "refused"),
    [
        ("public.test", ["2606:2800::1", "93.184.216.34"], set()),
        ("private.test", [], {"private.test"}),
        ("both.test", ["93.184.216.34"], set()),
        ("unknown.test", [], set()),
    ],
)
def test_no_connection_is_made_to_a_private_address(name, found, refused):
    system = System(NAMES)
    for _ in range(2):  # the second answer is from the cache
        assert resolved(name, system) == found
    assert resolver.refused == refused
    assert system.asked.count(name) == (2 if name == "unknown.test" else 1)


def test_a_proxy_and_other_spiders_are_exempt():
    assert resolved("private.test", System(NAMES), exempt={"private.test"}) == ["10.0.0.7", "fd00::7"]
    assert resolved("private.test", System(NAMES), checks=False) == ["10.0.0.7", "fd00::7"]


def test_a_name_without_an_answer_has_no_addresses():
    assert resolved("unknown.test", System(NAMES, silent=True), timeout=0.01) == []


@contextmanager
def serving_ipv6(page: str) -> Iterator[int]:
    """Serve one page on ``[::1]``, and nothing else. Yields the port."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            found = "story" in self.path
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode() if found else b"")

        def log_message(self, *_line):
            pass

    with Server(("::1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_page_is_read_over_ipv6(tmp_path):
    world = World(tmp_path, None)
    with serving_ipv6(article_html(1)) as port:
        url = f"http://[::1]:{port}/news/2026/story-1"
        crawl = world.crawl("-a", f"url={url}", NEWSBOT_ALLOW_PRIVATE="1")
        assert world.urls() == [url], crawl.err


def test_a_redirect_to_loopback_is_not_followed(site, world):
    secret: list[object] = []
    site.page("http://127.0.0.1/secret", secret.append)
    site.page(f"{HOST}/story", status=302, headers={"Location": "http://0x7f.1/secret"})
    site.page(f"{HOST}/good", article_html(1))
    site.page(
        f"{HOST}/feed.xml",
        feed_xml([f"{HOST}/story", f"{HOST}/good"]),
        headers={"Content-Type": "application/rss+xml"},
    )
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    crawl = world.crawl()
    assert crawl.stat("errors/private_address") == 1
    assert not secret
    assert world.urls() == [f"{HOST}/good"]


def test_links_of_a_page_cannot_name_ports(site, world):
    requested: list[object] = []
    victim, ours = "http://victim.test:6379/story-1", "http://news.test:8080"
    site.page(victim, requested.append)
    site.page("http://victim.test/story-2", status=302, headers={"Location": f"{victim}1"})
    site.page(f"{victim}1", requested.append)
    site.page(f"{ours}/good", article_html(1))
    site.page(f"{ours}/moved", status=302, headers={"Location": f"{ours}/good-2"})
    site.page(f"{ours}/good-2", article_html(2))
    site.page(f"{HOST}/good-3", article_html(3))
    links = [victim, "http://victim.test/story-2", f"{ours}/good", f"{ours}/moved", f"{HOST}/good-3"]
    site.page(f"{ours}/feed.xml", feed_xml(links), headers={"Content-Type": "application/rss+xml"})
    world.rule("news.test", f"domain: news.test\nfeeds: {ours}/feed.xml\n")
    crawl = world.crawl()
    assert not requested
    assert crawl.stat("errors/port") == 2, crawl.err
    assert sorted(world.urls()) == [f"{HOST}/good-3", f"{ours}/good", f"{ours}/good-2"]


@pytest.mark.parametrize(("where", "allowed"), [("argument", True), ("seed", True), ("body", False)])
def test_users_may_name_ports(where, allowed):
    page = "http://news.test:8080/2026/11/21/one-story.html"
    key = fingerprint(canonicalize(page))
    entry = Entry(url=page, fingerprint=key, host="news.test:8080", kind=Kind.ARTICLE, data={"where": where})
    lease = Lease(entry=entry, owner="x", token="t", attempts=0, deadline=0.0)
    visit = Visit(lease=lease, rule=Rule(domain="news.test"), started=0.0)
    request = Request(page, meta={META_KEY: visit})
    with nullcontext() if allowed else pytest.raises(Ignored, match="port 8080"):
        guard().process_request(request)


@pytest.mark.parametrize(("port", "allowed"), [(8080, True), (6379, False), (443, True)])
def test_the_monitor_requests_only_ports_that_a_rule_names(port, allowed):
    request = Request(f"http://news.test:{port}/", meta={ASIDE_KEY: 0})
    with nullcontext() if allowed else pytest.raises(Ignored, match=f"port {port}"):
        guard().process_request(request)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *[(one, False) for one in ("192.0.0.0", "192.0.0.11", "192.0.0.192", "192.0.0.255")],
        *[(one, True) for one in ("192.0.0.9", "192.0.0.10", "192.0.1.1")],
        *[(one, False) for one in ("100:0:0:1::", "100:0:0:1:2:3:4:5", "::ffff:192.0.0.192")],
        ("64:ff9b::c000:c0", False),
    ],
)
def test_networks_for_protocols_and_dummies_are_private(address, public):
    assert is_public(address) is public
