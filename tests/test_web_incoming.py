"""Limits of ``scrapy serve`` for requests: connections, time, memory and log lines."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import resource
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectionError, ClientError, web

from newsbot.apps.push.protocols import notice_header
from newsbot.apps.web import http, service
from newsbot.errors import UserError
from tests.pushing import US, Place, receiver, until

MIB = 2**20
WRITERS: list[asyncio.StreamWriter] = []
"""The connections that :func:`raw` has opened; the test closes them at its end."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "HUBS_EVERY", 0.02)


def run(folder: Path, test: Callable[[Place], Awaitable[None]], **options: Any) -> None:
    async def within() -> None:
        async with receiver(folder, **options) as place:
            try:
                await asyncio.wait_for(test(place), 60)
            finally:
                for writer in WRITERS:
                    writer.close()
                await asyncio.gather(*(one.wait_closed() for one in WRITERS), return_exceptions=True)
                WRITERS.clear()

    asyncio.run(within())


def port_of(place: Place) -> int:
    return int(place.address.rpartition(":")[2])


async def raw(place: Place, data: bytes) -> asyncio.StreamReader:
    """Send bytes on a new connection, which stays open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(place))
    WRITERS.append(writer)
    writer.write(data)
    await writer.drain()
    return reader


async def subscription(place: Place) -> dict[str, str]:
    """Return the callback path and the secret of the subscription, after the hub has verified it."""
    await until(lambda: place.hub.requests)
    form = place.hub.requests[0]
    query = {name: form[name] for name in ("hub.mode", "hub.topic")}
    path = form["hub.callback"].removeprefix(US)
    answer = await place.get(path, **query, **{"hub.challenge": "x", "hub.lease_seconds": "86400"})
    assert answer.status == 200
    return {"path": path, "secret": form["hub.secret"]}


async def distribute(place: Place, kept: dict[str, str], size: int) -> int:
    """Let the hub deliver a feed of this size."""
    body = b"x" * size
    signature = "sha256=" + hmac.new(kept["secret"].encode(), body, hashlib.sha256).hexdigest()
    answer = await place.post(kept["path"], BytesIO(body), X_Hub_Signature=signature)
    return answer.status


@pytest.mark.parametrize("size", [2 * MIB, 16 * MIB])
def test_a_hub_can_send_any_feed_that_the_feed_reader_accepts(tmp_path: Path, size: int) -> None:
    async def test(place: Place) -> None:
        kept = await subscription(place)
        place.work()
        assert await distribute(place, kept, size) == 202
        assert place.due() == {place.feed}

    run(tmp_path, test)


def test_a_refusal_is_logged_once_per_sender(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING, logger="newsbot.apps.web.http")
    monkeypatch.setattr(http._LINES, "_a_minute", 10_000)  # earlier tests of this minute logged lines, too

    async def test(place: Place) -> None:
        kept = await subscription(place)
        for _ in range(3):
            assert await distribute(place, kept, 16 * MIB + 1) == 413
            assert (await place.post("/push/notice", BytesIO(b"x" * (MIB + 1)))).status == 413
            assert (await place.post("/push/websub/unknown", BytesIO(b"x" * (MIB + 1)))).status == 413

    run(tmp_path, test)
    assert sum("body too long" in line for line in caplog.messages) == 1


def test_incomplete_requests_have_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(http, "BODY_SECONDS", 0.3)

    async def test(place: Place) -> None:
        silent, header = await raw(place, b""), await raw(place, b"GET / HTTP/1.1\r\nHost: loc")
        body = await raw(place, b"POST /push/ping HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx")
        assert await silent.read() == b""
        assert await header.read() == b""
        assert (await body.read(40)).startswith(b"HTTP/1.1 408 ")

    run(tmp_path, test)


def test_many_incomplete_requests_do_not_block_other_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http, "most_connections", lambda: 40)

    async def test(place: Place) -> None:
        crowd = [await raw(place, b"GET / HTTP/1.1\r\nHost: loc") for _ in range(200)]
        answer = await place.get("/healthz")
        assert answer.status == 200
        open_ones = [one for one in crowd if not one.at_eof()]
        assert len(open_ones) <= 40 + http._BACKLOG

    run(tmp_path, test)
    assert caplog.messages == []


def test_connections_stay_below_the_limit_of_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    for descriptors, most in ((256, 128), (1024, 512), (10**6, 1000), (-1, 1000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, given=descriptors: (given, given))
        assert http.most_connections() == most


def test_errors_of_senders_are_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def test(place: Place) -> None:
        for _ in range(3):
            await raw(place, b"POST /push/notice HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\nx")
            await asyncio.sleep(0.05)
            WRITERS[-1].transport.abort()
            long = await raw(
                place, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"
            )
            assert (await long.read(20))[9:] == b"400 Bad Req"
            await raw(place, b"\x16\x03\x01 no request at all\r\n\r\n")
            packed = b"Content-Encoding: deflate\r\nContent-Length: 9\r\n\r\nnot packed"
            odd = await raw(place, b"POST /push/rsscloud HTTP/1.1\r\nHost: localhost\r\n" + packed)
            assert (await odd.read(20))[9:] == b"400 Bad Req"
        with pytest.raises((ClientError, ClientConnectionError)):
            await place.client.get(place.address + "/", headers={"X": "x" * 100_000}, raise_for_status=True)
        await asyncio.sleep(0.1)

    run(tmp_path, test)
    assert [line for line in caplog.messages if "rror" in line] == []


def test_a_connection_closed_before_its_body_is_read_is_not_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = web.BaseRequest.read

    async def read(request: web.BaseRequest) -> bytes:
        if request.path == "/push/ping":  # the hub of the test reads with the same class
            raise RuntimeError("Connection closed.")  # as aiohttp does
        return await real(request)

    async def test(place: Place) -> None:
        assert (await place.post("/push/ping", b"x")).status == 400

    monkeypatch.setattr(web.BaseRequest, "read", read)
    run(tmp_path, test)
    assert [line for line in caplog.messages if "fault" in line] == []


def test_lines_are_limited() -> None:
    limited = http.LimitedLines(3)
    try:
        raise ValueError("why")
    except ValueError as error:
        fault = (ValueError, error, error.__traceback__)
    records = [logging.LogRecord("x", logging.ERROR, "x.py", 1, "a %s", ("b",), fault) for _ in range(9)]
    passed = [record for record in records if limited.filter(record)]
    assert len(passed) in (3, 6)  # a new minute may begin meanwhile
    assert passed[0].getMessage() == "a b error=ValueError: why"
    assert passed[0].exc_info is None


def test_a_notice_is_accepted_once_in_any_notation(tmp_path: Path) -> None:
    body = json.dumps({"host": "news.test", "key": "0123456789", "urlList": ["http://news.test/a"]}).encode()
    header = notice_header("s3cret", body, time.time())
    forms = [header.upper().replace("T=", "t=").replace("SHA256", "sha256"), f" {header} ", header]

    async def first(place: Place) -> None:
        assert (await place.post("/push/notice", body, X_Newsbot_Signature=header)).status == 202
        for form in forms:
            assert (await place.post("/push/notice", body, X_Newsbot_Signature=form)).status == 409

    async def after_a_restart(place: Place) -> None:
        for form in forms:
            assert (await place.post("/push/notice", body, X_Newsbot_Signature=form)).status == 409

    run(tmp_path, first, sensor_secret="s3cret")
    run(tmp_path, after_a_restart, sensor_secret="s3cret")


@pytest.mark.parametrize(("now", "highest", "after"), [(64, 64, None), (64, 4096, 256), (1024, 4096, 1024)])
def test_the_server_refuses_to_start_with_too_few_files(monkeypatch, now, highest, after) -> None:
    limits = [now, highest]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.__setitem__(0, pair[0]))
    if after is None:
        with pytest.raises(UserError, match=r"limit of open files is 64.*ulimit -n 1024"):
            http.need_descriptors()
    else:
        http.need_descriptors()
        assert limits[0] == after
