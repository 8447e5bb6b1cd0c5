"""The WebSub hub of the dashboard's feeds, with a subscriber on loopback.

The names are those of the public conformance suite for hubs (section 4 to 8 of the recommendation).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from newsbot import backends
from newsbot.apps.hub import subscriptions
from newsbot.apps.hub.subscriptions import (
    KIND,
    LONGEST,
    Hub,
    Network,
    Subscribed,
    read_request,
    verification_url,
)
from newsbot.apps.push.protocols import hub_method
from newsbot.apps.search.articles import searching
from tests.dashboarddata import fill, make_article
from tests.dashboards import TOKEN, Visitor, settings_of, visiting
from tests.pushing import until

SECRET = "a secret of the subscriber"
GOOD = {
    "hub.mode": "subscribe",
    "hub.topic": "http://127.0.0.1:1/articles.atom?q=bridge",
    "hub.callback": "http://reader.test/callback?id=7",
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"hub.mode": "publish"}, "hub.mode"),
        ({"hub.mode": ""}, "hub.mode"),
        ({"hub.topic": ""}, "hub.topic"),
        ({"hub.topic": "/articles.atom"}, "hub.topic"),
        ({"hub.callback": "ftp://reader.test/"}, "hub.callback"),
        ({"hub.callback": "http://reader.test/" + "x" * 2000}, "hub.callback"),
        ({"hub.secret": "ж" * 100}, "hub.secret"),
        ({"hub.lease_seconds": "soon"}, "hub.lease_seconds"),
        ({"hub.lease_seconds": "0"}, "hub.lease_seconds"),
        ({"hub.lease_seconds": "9" * 30}, "hub.lease_seconds"),
    ],
)
def test_requests_that_are_refused_have_a_reason(change: dict[str, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_request(GOOD | change)


def test_a_lease_is_bounded_and_the_query_of_a_callback_is_kept() -> None:
    one = read_request(GOOD | {"hub.lease_seconds": "99999999999"})
    assert one.lease == LONGEST
    url = verification_url(one, "ch")
    assert url.startswith(
        "http://reader.test/callback?id=7&hub.mode=subscribe&hub.topic=http%3A%2F%2F127.0.0.1"
    )
    assert url.endswith(f"&hub.challenge=ch&hub.lease_seconds={LONGEST}")
    assert "lease" not in verification_url(replace(one, leaving=True), "ch")


@dataclass
class World:
    """A network in memory: the content of the feed, and what the subscriber answers."""

    body: bytes = b"<feed/>"
    status: int = 200
    echo: bool = True
    sent: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    now: float = 1_000_000.0

    def network(self) -> Network:
        async def get(url: str) -> tuple[int, bytes]:
            return 200, url.partition("challenge=")[2].partition("&")[0].encode() if self.echo else b"no"

        async def post(_url: str, body: bytes, headers: Any) -> int:
            self.sent.append((body, dict(headers)))
            return self.status

        async def content(topic: str) -> tuple[bytes, str]:
            if topic in self.gone:
                raise LookupError(topic)
            return self.body, "application/atom+xml"

        async def notes(name: str, _kind: str, *given: Any) -> Any:
            if name == "all":
                return dict(self.notes)
            if name == "save":
                self.notes[given[0]] = given[1]
            else:
                self.notes.pop(given[0])
            return None

        return Network(get, post, content, notes)

    def rounds(self, hub: Hub, count: int = 1) -> None:
        async def run() -> None:
            for _ in range(count):
                await hub.round(self.network())

        asyncio.run(run())


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def hub(world: World) -> Hub:
    found = Hub(lambda: world.now)
    found.ask(read_request(GOOD | {"hub.secret": SECRET}))
    world.rounds(found)
    return found


def test_only_later_content_is_sent_and_it_is_signed(world: World, hub: Hub) -> None:
    world.rounds(hub, 3)
    assert not world.sent
    world.body = b"<feed>new</feed>"
    world.rounds(hub, 3)
    ((body, headers),) = world.sent
    assert body == b"<feed>new</feed>"
    assert headers["Link"] == f'<http://127.0.0.1:1/hub>; rel="hub", <{GOOD["hub.topic"]}>; rel="self"'
    assert hub_method(headers["X-Hub-Signature"], SECRET, body) == "sha256"


def test_subscriptions_outlast_a_restart_and_end_with_their_lease(world: World, hub: Hub) -> None:
    again = Hub(lambda: world.now)
    world.body = b"<feed>2</feed>"
    world.rounds(again)
    assert len(world.sent) == 1
    world.now += 11 * 86400
    world.body = b"<feed>3</feed>"
    world.rounds(again)
    assert len(world.sent) == 1
    assert not world.notes


def test_a_request_that_is_not_verified_changes_nothing(world: World, hub: Hub) -> None:
    before = dict(world.notes)
    world.echo = False
    other = GOOD | {"hub.callback": "http://victim.test/"}
    hub.ask(read_request(other))
    hub.ask(read_request(GOOD | {"hub.mode": "unsubscribe"}))
    world.rounds(hub)
    assert world.notes == before
    world.echo = True
    hub.ask(read_request(GOOD | {"hub.mode": "unsubscribe"}))
    world.rounds(hub)
    assert not world.notes


def test_a_subscriber_that_fails_is_tried_again_later_and_410_ends_it(world: World, hub: Hub) -> None:
    world.body, world.status = b"<feed>2</feed>", 503
    world.rounds(hub, 5)
    assert len(world.sent) == 1
    world.now += 6
    world.rounds(hub, 5)
    assert len(world.sent) == 2
    world.now += 11
    world.status = 204
    world.rounds(hub, 2)
    assert len(world.sent) == 3
    assert [one["tries"] for one in world.notes.values()] == [0]
    world.body, world.status = b"<feed>3</feed>", 410
    world.rounds(hub)
    assert not world.notes


def test_a_feed_that_is_gone_ends_its_subscriptions_and_no_others(world: World, hub: Hub) -> None:
    gone = GOOD["hub.topic"] + "&category=ferries"
    hub.ask(read_request(GOOD | {"hub.topic": gone}))
    world.rounds(hub)
    assert {note["topic"] for note in world.notes.values()} == {GOOD["hub.topic"], gone}
    world.gone.add(gone)
    world.body = b"<feed>new</feed>"
    hub.ask(read_request(GOOD | {"hub.topic": gone, "hub.callback": "http://other.test/"}))
    world.rounds(hub)
    assert [note["topic"] for note in world.notes.values()] == [GOOD["hub.topic"]]
    assert [body for body, _ in world.sent] == [world.body]


def test_a_slow_program_delays_no_other_one(world: World, hub: Hub) -> None:
    """The slow programs answer when the quick ones have been verified, or have got their content."""
    network, quick = world.network(), asyncio.Event()

    async def get(url: str) -> tuple[int, bytes]:
        await slowly(url)
        return await network.get(url)

    async def post(url: str, body: bytes, headers: Any) -> int:
        await slowly(url)
        return await network.post(url, body, headers)

    async def slowly(url: str) -> None:
        if "slow" in url:
            await quick.wait()
        else:
            quick.set()

    async def run() -> None:
        for name in ("slow", "quick"):
            topic = f"{GOOD['hub.topic']}&category={name}"
            hub.ask(read_request(GOOD | {"hub.callback": f"http://{name}.test/", "hub.topic": topic}))
        for body in (world.body, b"<feed>new</feed>"):
            world.body = body
            quick.clear()
            await asyncio.wait_for(hub.round(replace(network, get=get, post=post)), 20)

    asyncio.run(run())
    assert len(world.notes) == len(world.sent) == 3


def test_requests_are_bounded(hub: Hub) -> None:
    taken = [hub.ask(read_request(GOOD | {"hub.callback": f"http://r.test/{n}"})) for n in range(400)]
    assert taken[0]
    # those that wait are bounded, and so are all together
    assert len(hub._waiting) <= 100


# --- on the dashboard


@asynccontextmanager
async def reader() -> AsyncIterator[tuple[str, list[web.Request], asyncio.Queue[bytes]]]:
    """A subscriber that confirms each request."""
    asked: list[web.Request] = []
    received: asyncio.Queue[bytes] = asyncio.Queue()

    async def confirm(request: web.Request) -> web.Response:
        asked.append(request)
        return web.Response(text=request.query["hub.challenge"])

    async def receive(request: web.Request) -> web.Response:
        received.put_nowait(await request.read())
        return web.Response(status=204)

    app = web.Application()
    app.router.add_get("/callback", confirm)
    app.router.add_post("/callback", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/callback", asked, received
    finally:
        await runner.cleanup()


def on_dashboard(
    folder: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Visitor, dict[str, Any]], Awaitable[None]]
) -> None:
    monkeypatch.setattr(subscriptions, "ROUND_EVERY", 0.05)
    settings = settings_of(folder)
    fill(settings, articles=2)

    async def whole() -> None:
        async with visiting(settings, token=TOKEN, allow_private=True) as visitor:
            await asyncio.wait_for(work(visitor, settings), 30)

    asyncio.run(whole())


def test_a_subscriber_of_a_search_gets_new_articles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(visitor: Visitor, settings: dict[str, Any]) -> None:
        answer, text = await visitor.get("/articles.atom?source=fresh.test")
        links = {str(one["rel"]): str(one["url"]) for one in answer.links.values()}
        assert links == {
            "hub": f"{visitor.address}/hub",
            "self": f"{visitor.address}/articles.atom?source=fresh.test",
        }
        assert f'<link rel="hub" href="{visitor.address}/hub" />' in text
        async with reader() as (callback, asked, received):
            form = {"hub.mode": "subscribe", "hub.topic": links["self"], "hub.callback": callback}
            assert (await visitor.post("/hub", form))[0].status == 202

            def is_kept() -> bool:
                with backends.stored(settings) as storage:
                    return bool(storage.notes.all(KIND))

            await until(is_kept)
            assert [one.query["hub.mode"] for one in asked] == ["subscribe"]
            url = "https://fresh.test/one"
            with backends.stored(settings) as storage:
                storage.articles.store(
                    make_article(3, url=url, canonical_url=url, source="fresh.test", content_hash="n")
                )
            with searching(settings) as search:
                search.follow()
            assert url.encode() in await received.get()

    on_dashboard(tmp_path, monkeypatch, work)


def test_what_the_hub_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(visitor: Visitor, _settings: dict[str, Any]) -> None:
        topic = f"{visitor.address}/articles.rss?q=bridge"
        good = {"hub.mode": "subscribe", "hub.topic": topic, "hub.callback": "http://reader.test/"}
        for change in (
            {"hub.topic": "http://other.test/articles.atom"},
            {"hub.topic": f"{visitor.address}/stories"},
            {"hub.topic": f"{visitor.address}/articles.atom?limit=many"},
            {"hub.callback": "reader"},
        ):
            answer, text = await visitor.post("/hub", good | change)
            assert answer.status == 400, change
            assert text
        assert (await visitor.post("/hub", good, Origin="http://evil.test"))[0].status == 403
        assert (await visitor.post("/hub", good, Host="evil.test"))[0].status in (401, 403)

    on_dashboard(tmp_path, monkeypatch, work)


def test_notes_hold_the_subscription(world: World, hub: Hub) -> None:
    (note,) = world.notes.values()
    assert Subscribed(**note).callback == GOOD["hub.callback"]
    assert KIND == "hub_subscriber"
