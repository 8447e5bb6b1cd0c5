"""The WebSub subscriber with a hub on loopback.

The names are those of the public conformance suite for subscribers: 200 to 205 and 300 to 302 in this file,
100 to 104 (finding the hub) in test_crawl_hubs.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from newsbot.apps.push.protocols import sign
from newsbot.apps.web import service
from tests.dashboards import started
from tests.pushing import US, Place, receiver, until


@pytest.fixture(autouse=True)
def quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "HUBS_EVERY", 0.02)
    monkeypatch.setattr(service, "AGAIN_EVERY", 0.02)
    monkeypatch.setattr(service, "REVIEW_EVERY", 0.02)


def run(folder: Path, test: Callable[[Place], Awaitable[None]], **options: Any) -> None:
    async def within() -> None:
        async with receiver(folder, **options) as place:
            await asyncio.wait_for(test(place), 30)

    asyncio.run(within())


async def subscription_request(place: Place, number: int = 1) -> dict[str, str]:
    await until(lambda: len(place.hub.requests) >= number)
    return place.hub.requests[number - 1]


def path_of(form: dict[str, str]) -> str:
    assert form["hub.callback"].startswith("http://us.test/push/websub/")
    return form["hub.callback"].removeprefix(US)


async def verify(place: Place, form: dict[str, str], **change: str) -> tuple[int, str]:
    query = {
        "hub.mode": form["hub.mode"],
        "hub.topic": form["hub.topic"],
        "hub.challenge": "ch-1",
        "hub.lease_seconds": "86400",
    }
    answer = await place.get(
        path_of(form), **(query | {f"hub.{key}": value for key, value in change.items()})
    )
    return answer.status, await answer.text()


async def subscribed(place: Place) -> dict[str, str]:
    form = await subscription_request(place)
    assert await verify(place, form) == (200, "ch-1")
    return form


# --- 200-205: subscribing
def test_200_the_topic_is_the_self_link_of_the_feed(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscription_request(place)
        assert form["hub.mode"] == "subscribe"
        assert form["hub.topic"] == place.feed
        assert len(form["hub.secret"]) >= 32
        assert int(form["hub.lease_seconds"]) > 0

    run(tmp_path, test)


@pytest.mark.parametrize("status", [307, 308])
def test_203_and_204_a_hub_that_moved(tmp_path: Path, status: int) -> None:
    async def test(place: Place) -> None:
        def answer(form: Any) -> web.Response:
            if len(place.hub.requests) == 1:
                return web.Response(status=status, headers={"Location": "/hub?new"})
            return web.Response(status=202)

        place.hub.answer = answer
        first, second = await subscription_request(place), await subscription_request(place, 2)
        assert first == second
        assert (await verify(place, second))[0] == 200

    run(tmp_path, test)


@pytest.mark.parametrize(
    "change",
    [
        {"topic": "http://us.test/other"},
        {"mode": "unsubscribe"},
        {"challenge": ""},
        {"lease_seconds": "x"},
    ],
)
def test_205_unrequested_subscriptions_are_not_confirmed(tmp_path: Path, change: dict[str, str]) -> None:
    async def test(place: Place) -> None:
        form = await subscription_request(place)
        assert await verify(place, form, **change) == (404, "")
        assert (await verify(place, form))[0] == 200, "the real subscription must still be confirmed"

    run(tmp_path, test)


def test_a_guessed_callback_is_not_confirmed(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscription_request(place)
        form["hub.callback"] = "http://us.test/push/websub/" + "a" * 43
        assert await verify(place, form) == (404, "")

    run(tmp_path, test)


def test_the_challenge_is_returned_as_plain_text_only(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscription_request(place)
        challenge = "<script>alert(1)</script>"
        answer = await place.get(
            path_of(form),
            **{
                "hub.mode": "subscribe",
                "hub.topic": form["hub.topic"],
                "hub.challenge": challenge,
                "hub.lease_seconds": "600",
            },
        )
        assert await answer.read() == challenge.encode()
        assert answer.content_type == "text/plain"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        (kept,) = place.subscriptions()
        assert kept["state"] == "verified"

    run(tmp_path, test)


def test_a_verified_subscription_is_kept_after_a_restart_and_not_requested_again(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        await subscribed(place)
        place.hub.requests.clear()
        settings = {"NEWSBOT_DATA": str(place.folder), "NEWSBOT_RULES": str(place.folder / "rules")}
        async with started(settings, allow_private=True, public_url=US):
            await asyncio.sleep(0.3)
        assert place.hub.requests == []

    run(tmp_path, test)


def test_a_refusal_of_the_hub_is_reported_and_the_request_is_repeated_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(place: Place) -> None:
        place.hub.answer = lambda form: web.Response(status=400, text="no\nsuch topic")
        await subscription_request(place)
        await until(lambda: place.subscriptions()[0]["reason"])
        assert place.subscriptions()[0]["reason"] == "HTTP 400 no such topic"
        assert len(place.hub.requests) == 1

    run(tmp_path, test)
    assert "subscription request failed" in caplog.text


def test_a_denied_subscription_is_not_requested_again_soon(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscribed(place)
        denial = {"hub.mode": "denied", "hub.topic": form["hub.topic"], "hub.reason": "paid only"}
        assert (await place.get(path_of(form), **denial)).status == 200
        await asyncio.sleep(0.2)
        (kept,) = place.subscriptions()
        assert (kept["state"], kept["reason"]) == ("denied", "paid only")
        assert len(place.hub.requests) == 1
        assert (await send(place, form)).status == 202
        assert place.due() == set(), "its content must be ignored now"

    run(tmp_path, test)


# --- 300-302: content distribution
async def send(
    place: Place, form: dict[str, str], body: bytes = b"<rss/>", signature: str | None = ""
) -> Any:
    headers = {}
    if signature is not None:
        found = signature or "sha256=" + sign("sha256", form["hub.secret"].encode(), body)
        headers["X_Hub_Signature"] = found
    return await place.post(path_of(form), body, **headers)


def test_300_a_signed_message_moves_the_next_fetch_to_now(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscribed(place)
        assert place.due() == set()
        assert (await send(place, form)).status == 202
        assert place.due() == {place.feed}

    run(tmp_path, test)


@pytest.mark.parametrize("signature", ["sha256=" + "0" * 64, "sha1=" + "0" * 40, "nonsense"])
def test_301_a_wrong_signature_is_acknowledged_and_ignored(tmp_path: Path, signature: str) -> None:
    async def test(place: Place) -> None:
        form = await subscribed(place)
        assert 200 <= (await send(place, form, signature=signature)).status < 300
        assert place.due() == set()

    run(tmp_path, test)


def test_302_without_a_signature_it_is_ignored(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscribed(place)
        assert 200 <= (await send(place, form, signature=None)).status < 300
        assert place.due() == set()

    run(tmp_path, test)


def test_a_weaker_signature_method_than_before_is_refused(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscribed(place)
        body = b"<rss>2</rss>"
        weak = "sha1=" + sign("sha1", form["hub.secret"].encode(), body)
        await send(place, form)
        (kept,) = place.subscriptions()
        assert kept["method"] == "sha256"
        place.work()
        await send(place, form, body, weak)
        assert place.due() == set()

    run(tmp_path, test)


def test_a_repeated_message_counts_once(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscribed(place)
        await send(place, form)
        place.work()
        await send(place, form)
        assert place.due() == set()
        await send(place, form, b"<rss>another</rss>")
        assert place.due() == {place.feed}

    run(tmp_path, test)


def test_many_messages_stay_within_the_budget_of_the_host(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscribed(place)
        caused = 0
        for number in range(40):
            await send(place, form, b"%d" % number)
            caused += len(place.work())
        assert caused == 10

    run(tmp_path, test, per_host=1.0)


def test_many_hints_do_not_use_the_budget_of_the_hub(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscribed(place)
        for _ in range(30):
            await place.post("/push/rsscloud", {"url": place.feed})
            place.work()
        await send(place, form)
        assert place.due() == {place.feed}

    run(tmp_path, test, per_host=1.0)


def test_a_body_without_end_is_refused(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        form = await subscribed(place)
        assert (await place.post(path_of(form), BytesIO(b"x" * (2**24 + 1)))).status == 413
        assert place.due() == set()

    run(tmp_path, test)


def test_an_unknown_callback_is_gone(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        assert (await place.post("/push/websub/" + "b" * 43, b"x")).status == 410

    run(tmp_path, test)
