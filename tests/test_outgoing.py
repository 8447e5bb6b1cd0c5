"""Requests that others can cause never reach a private address."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest
from aiohttp import web
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver

from newsbot.apps.web.http import MAX_BODY, MAX_HOPS, Outgoing, OutgoingError
from newsbot.crawl import address_guard as publichosts

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def with_site(
    handler: Handler, test: Callable[[str], Awaitable[None]], host: str = "127.0.0.1"
) -> None:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, host, 0).start()
    try:
        await asyncio.wait_for(test("http://{}:{}".format(*runner.addresses[0][:2])), 30)
    finally:
        await runner.cleanup()


async def never(_request: web.Request) -> web.StreamResponse:
    raise AssertionError("the site was requested")


@pytest.mark.parametrize(
    "host",
    [
        "0x7f.1",
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "localhost",
        "metadata.internal",
        "127.0.0.1",
        "10.0.0.1",
        "１２７.0.0.1",
    ],
)
def test_private_addresses_are_not_requested(host: str) -> None:
    async def test(site: str) -> None:
        port = site.rpartition(":")[2]
        async with Outgoing("newsbot") as client:
            with pytest.raises(OutgoingError, match=r"not a public address|not a valid URL"):
                await client.get(f"http://{host}:{port}/")

    asyncio.run(with_site(never, test))


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "gopher://a.test/", "http://", "//a.test/x", "http://a b/"]
)
def test_only_web_urls_are_requested(url: str) -> None:
    async def test() -> None:
        async with Outgoing("newsbot") as client:
            with pytest.raises(OutgoingError):
                await client.get(url)

    asyncio.run(test())


def resolving(answers: Iterator[Sequence[str]]) -> Callable[..., Awaitable[list[ResolveResult]]]:
    """Return a resolver whose calls return these addresses one after the other."""

    async def resolve(self: object, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=one, port=port, family=socket.AF_INET, proto=0, flags=0)
            for one in next(answers)
        ]

    return resolve


@pytest.mark.usefixtures("any_port")
def test_a_name_that_resolves_to_a_private_address_is_not_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThreadedResolver, "resolve", resolving(iter([["93.184.216.34", "127.0.0.1"]])))

    async def test(site: str) -> None:
        port = site.rpartition(":")[2]
        async with Outgoing("newsbot") as client:
            with pytest.raises(OutgoingError, match="resolves to the private address"):
                await client.get(f"http://innocent.test:{port}/")

    asyncio.run(with_site(never, test))


@pytest.mark.usefixtures("any_port")
def test_a_name_that_resolves_to_another_address_the_second_time_is_not_requested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DNS rebinding: the connection must use the address that was checked."""
    answers = iter([["198.51.100.7"], ["127.0.0.1"], ["127.0.0.1"]])
    monkeypatch.setattr(ThreadedResolver, "resolve", resolving(answers))

    async def test(site: str) -> None:
        port = site.rpartition(":")[2]
        async with Outgoing("newsbot") as client:
            for _ in range(2):
                with pytest.raises(OutgoingError):
                    await client.get(f"http://rebinding.test:{port}/")

    # 198.51.100.7 is reserved for documentation, so it is not public; each connection resolves the name again
    asyncio.run(with_site(never, test))
    assert list(answers) == [["127.0.0.1"]], "the name must be resolved twice"


def test_an_unusual_port_is_not_requested() -> None:
    async def test() -> None:
        async with Outgoing("newsbot") as client:
            with pytest.raises(OutgoingError, match="port 6379"):
                await client.post("http://hub.test:6379/", b"x")

    asyncio.run(test())


@pytest.fixture
def any_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publichosts, "USUAL_PORTS", range(1, 65536))


@pytest.fixture
def second_loopback_is_public(any_port: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make 127.0.0.2 count as a public address."""
    judge = publichosts.is_local
    monkeypatch.setattr(publichosts, "is_local", lambda host: host != "127.0.0.2" and judge(host))


@pytest.mark.usefixtures("second_loopback_is_public")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_redirect_to_a_private_address_is_not_followed(method: str) -> None:
    async def test(site: str) -> None:
        async def redirect(_request: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": site})

        async def ask(public: str) -> None:
            async with Outgoing("newsbot") as client:
                with pytest.raises(OutgoingError, match="not a public address"):
                    await (client.get(public) if method == "GET" else client.post(public, b"x"))

        await with_site(redirect, ask, "127.0.0.2")

    asyncio.run(with_site(never, test))


@pytest.mark.usefixtures("second_loopback_is_public")
def test_redirects_and_bodies_have_a_limit() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        if request.path == "/big":
            return web.Response(body=b"x" * (MAX_BODY + 1000))
        return web.Response(status=302, headers={"Location": "/again"})

    async def test(site: str) -> None:
        async with Outgoing("newsbot") as client:
            assert len((await client.get(site + "/big")).body) <= MAX_BODY
            with pytest.raises(OutgoingError, match=f"more than {MAX_HOPS} redirects"):
                await client.get(site)

    asyncio.run(with_site(handler, test, "127.0.0.2"))


@pytest.mark.usefixtures("second_loopback_is_public")
def test_a_body_sent_in_parts_is_read_completely() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in (b"first, ", b"second, ", b"third"):
            await response.write(part)
            await asyncio.sleep(0.05)
        return response

    async def test(site: str) -> None:
        async with Outgoing("newsbot") as client:
            assert (await client.get(site)).body == b"first, second, third"

    asyncio.run(with_site(handler, test, "127.0.0.2"))


@pytest.mark.usefixtures("second_loopback_is_public")
def test_no_cookies_and_newsbots_user_agent_are_sent() -> None:
    seen: list[tuple[str | None, str | None]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append((request.headers.get("Cookie"), request.headers.get("User-Agent")))
        return web.Response(headers={"Set-Cookie": "a=b"})

    async def test(site: str) -> None:
        async with Outgoing("newsbot/1 (+us)") as client:
            await client.get(site)
            await client.get(site)

    asyncio.run(with_site(handler, test, "127.0.0.2"))
    assert seen == [(None, "newsbot/1 (+us)")] * 2
