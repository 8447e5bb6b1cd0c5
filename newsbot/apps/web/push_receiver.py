"""Receives notices of changed pages: WebSub, IndexNow, notices of sensors, rssCloud and pings.

Responses do not reveal which URLs are known. The length of bodies is limited, a repeated notice is used only
once, and each sender has a budget of requests. docs/push.md describes the protocols. Sensors are ``scrapy
sensor`` and the middleware in :mod:`newsbot.apps.push.sensor`.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Iterable

from aiohttp import web

from newsbot.apps.operations.notifier_trust import Budget
from newsbot.apps.push import protocols
from newsbot.apps.push.signatures import TOLERANCE, SeenOnce, genuine_notice
from newsbot.apps.web.http import MAX_BODY, Outgoing, OutgoingError, read_form, sender_of
from newsbot.apps.web.push_intake import Desk, Fate, OffThread, Subscriptions, notifier_name
from newsbot.clock import Clock
from newsbot.pages.discovery.feeds import MAX_BODY as MAX_FEED
from newsbot.pages.discovery.feeds import FeedError, item_contents

KEY_LASTS = 86400.0
"""Seconds for which a correct key file is trusted without another request."""
WRONG_LASTS = 300.0
"""Seconds for which a wrong or missing key file is not requested again."""
KEYS_AN_HOUR, KEYS_AT_ONCE = 60.0, 10.0
"""Maximum number of requests for key files of one host, per hour and at once.

Without this limit, forged notices could cause a flood of requests to a host.
"""
PLAIN = {"X-Content-Type-Options": "nosniff"}
"""Headers of all responses. Browsers must use the declared content type and not guess one."""
_SPREAD = random.Random()  # noqa: S311  (varies the times of renewals, keeps no secret)


class Receiver:
    """The handlers of the push routes and their state.

    ``data`` is the thread that calls the blocking methods of ``desk`` and ``subscriptions``.
    ``sensor_secret`` is the key of sensors. If it is empty, notices of sensors are refused. ``per_sender`` is
    the number of requests that one address may send in an hour.
    """

    def __init__(
        self,
        desk: Desk,
        subscriptions: Subscriptions,
        outgoing: Outgoing,
        data: OffThread,
        *,
        clock: Clock,
        sensor_secret: str,
        per_sender: float,
    ) -> None:
        self.desk, self.subscriptions = desk, subscriptions
        self.outgoing, self.data, self.clock = outgoing, data, clock
        self.sensor_secret = sensor_secret
        self.senders = Budget(per_sender, max(20.0, per_sender / 6), clock)
        """Budget of requests by sender."""
        self.bodies = SeenOnce(2 * TOLERANCE, clock)
        """Digests of the bodies that hubs sent, so that a repeated body is used only once."""
        self.keys, self.wrong_keys = SeenOnce(KEY_LASTS, clock), SeenOnce(WRONG_LASTS, clock)
        """Digests of IndexNow keys that were found on their host, and of keys that were not found."""
        self.key_files = Budget(KEYS_AN_HOUR, KEYS_AT_ONCE, clock)
        """Budget of requests for key files by host."""

    def add_to(self, app: web.Application) -> None:
        """Add the routes of the receiver."""
        app.router.add_get("/push/websub/{token}", self.verify)
        app.router.add_post("/push/websub/{token}", self.receive)
        app.router.add_get("/indexnow", self.index_now)
        app.router.add_post("/indexnow", self.index_now)
        app.router.add_post("/push/notice", self.notice)
        app.router.add_get("/push/rsscloud", self.cloud_challenge)
        app.router.add_post("/push/rsscloud", self.cloud)
        app.router.add_post("/push/ping", self.ping)

    def limit_of(self, request: web.Request) -> int:
        """Return the maximum length of a request's body in bytes.

        It is larger for hubs, because they send feeds.
        """
        from_hub = self.subscriptions.by_token(request.match_info.get("token", "")) is not None
        return MAX_FEED if from_hub else MAX_BODY

    # --- WebSub
    async def verify(self, request: web.Request) -> web.Response:
        """Respond to a hub's verification of intent (WebSub, section 5.3), or record its denial (5.2).

        The response to a valid verification is the hub's challenge. Other requests get 404.
        """
        subscription = self.subscriptions.by_token(request.match_info["token"])
        if subscription is None:
            return _not_found()
        now = self.clock()
        # A hub may deny a subscription at any time. A denial has no challenge (WebSub, section 5.2).
        if request.query.get("hub.mode") == "denied":
            self.subscriptions.put(protocols.deny(subscription, request.query, now))
            await self.data.call(self.subscriptions.keep, subscription.token)
            return web.Response(headers=PLAIN)
        confirmed, echo = protocols.verify_intent(subscription, request.query, now, _SPREAD.random())
        if echo is None:
            return _not_found()
        if request.query.get("hub.mode") == "unsubscribe":
            await self.data.call(self.subscriptions.drop, subscription.token)
        else:
            self.subscriptions.put(confirmed)
            await self.data.call(self.subscriptions.keep, subscription.token)
        return web.Response(text=echo, headers=PLAIN)

    async def receive(self, request: web.Request) -> web.Response:
        """Receive content from a hub. Content without a valid signature is acknowledged, but ignored.

        So the response does not reveal to a forger whether a signature is valid (allowed by WebSub, section
        8). Genuine content causes a fetch of the feed. Its texts are kept for pages that are refused.
        """
        subscription = self.subscriptions.by_token(request.match_info["token"])
        if subscription is None:
            return web.Response(status=410, headers=PLAIN)  # section 7: the hub may then end the subscription
        body = await request.read()
        signature = request.headers.get("X-Hub-Signature")
        seen, genuine = protocols.is_genuine(subscription, signature, body, self.clock())
        # The digest includes the token, because two feeds may have the same body.
        digest = hashlib.blake2b(subscription.token.encode() + body, digest_size=16).digest()
        # is_new() records the digest, so it is called only for genuine content. Otherwise a forger could make
        # the body of a hub count as a repetition.
        if genuine and self.bodies.is_new(digest):
            if seen.method != subscription.method:
                self.subscriptions.put(seen)
                await self.data.call(self.subscriptions.keep, seen.token)
            notifier = notifier_name("websub", subscription.hub)
            (fate,) = await self._take(notifier, [subscription.page], proved=True)
            # The budget for fetches also limits how much is read and kept.
            if fate is Fate.QUEUED and not subscription.is_exposed:
                await self._keep_texts(subscription, body, request.headers.get("Content-Type"))
        return web.Response(status=202, headers=PLAIN)

    async def _keep_texts(self, subscription: protocols.Subscription, body: bytes, kind: str | None) -> None:
        try:
            contents = await asyncio.to_thread(item_contents, body, subscription.topic, kind)
        except FeedError:  # a hub may also send pages, and messages without content
            return
        await self.data.call(self.desk.keep_texts, subscription.page, contents)

    # --- IndexNow and sensors
    async def index_now(self, request: web.Request) -> web.Response:
        """Receive an IndexNow notice, and use it if the host of its URLs has a key file with its key.

        The response is 202 for an accepted notice, 422 for an invalid notice, 403 for a wrong key, and 429
        for too many requests.
        """
        if not self._may_send(request):
            return _too_many()
        try:
            if request.method == "GET":
                notice = protocols.of_query(request.query)
            else:
                notice = protocols.of_json(await request.read())
        except protocols.BadNotice as error:
            return web.Response(status=422, text=str(error), headers=PLAIN)
        believed = await self._is_key(notice)
        if believed is None:
            return _too_many()
        if not believed:
            return web.Response(status=403, text="the key file was not found or differs", headers=PLAIN)
        await self._take(f"indexnow:{notice.host}", notice.urls, proved=True)
        return web.Response(status=202, headers=PLAIN)

    async def _is_key(self, notice: protocols.Notice) -> bool | None:
        """Return True if the host has the key file with the key of the notice.

        Return None if the host's budget of requests for key files is used up.
        """
        key = hashlib.blake2b(f"{notice.key_location}\0{notice.key}".encode(), digest_size=16).digest()
        if self.keys.knows(key):
            return True
        if self.wrong_keys.knows(key) or not await self.data.call(self.desk.knows_site, notice.urls[0]):
            return False  # a notice can name any host, so only known sites get a request
        if not self.key_files.take(notice.host):
            return None
        try:
            answer = await self.outgoing.get(notice.key_location)
        except OutgoingError:
            return False
        right = answer.status == 200 and protocols.is_key_file(answer.body, notice.key)
        (self.keys if right else self.wrong_keys).is_new(key)  # this call also records the key
        return right

    async def notice(self, request: web.Request) -> web.Response:
        """Receive a notice of a sensor: the JSON of IndexNow, signed with the shared secret.

        The response is 202 for an accepted notice, 403 for a wrong signature, 409 for a notice that was
        received before, 422 for an invalid notice, and 429 for too many requests.
        """
        if not self._may_send(request):
            return _too_many()
        body = await request.read()
        header = request.headers.get("X-Newsbot-Signature", "")
        key = self.sensor_secret and genuine_notice(header, self.sensor_secret, body, self.clock())
        if not key:
            return web.Response(status=403, text="the signature is missing or wrong", headers=PLAIN)
        # The notice is recorded in the storage, so that a copy of it is also refused after a restart.
        if not await self.data.call(self.desk.is_first, key):
            return web.Response(status=409, text="this notice was received before", headers=PLAIN)
        try:
            notice = protocols.of_json(body)
        except protocols.BadNotice as error:
            return web.Response(status=422, text=str(error), headers=PLAIN)
        await self._take(f"sensor:{notice.host}", notice.urls, proved=True)
        return web.Response(status=202, headers=PLAIN)

    # --- hints
    async def cloud_challenge(self, request: web.Request) -> web.Response:
        """Return the challenge of an rssCloud server if it is for a known feed, otherwise 404."""
        challenge = protocols.challenge_of(request.query)
        if challenge is None or not self._may_send(request):
            return _not_found()
        if not await self.data.call(self.desk.is_source, challenge[0]):
            return _not_found()
        return web.Response(text=challenge[1], headers=PLAIN)

    async def cloud(self, request: web.Request) -> web.Response:
        """Receive an rssCloud notice: a form with the ``url`` of a feed."""
        if not self._may_send(request):
            return _too_many()
        form = await read_form(request)
        url = form.get("url")
        if isinstance(url, str):
            await self._take(_sender("rsscloud", request), [url], proved=False)
        return web.Response(headers=PLAIN)

    async def ping(self, request: web.Request) -> web.Response:
        """Receive a ping: an XML-RPC call of ``weblogUpdates.ping``. Errors are part of the XML response."""
        if not self._may_send(request):
            return _too_many()
        try:
            urls = protocols.pinged(await request.read())
        except ValueError as error:
            answer = protocols.ping_answer(str(error))
        else:
            await self._take(_sender("ping", request), urls, proved=False)
            answer = protocols.ping_answer()
        return web.Response(text=answer, content_type="text/xml", headers=PLAIN)

    # --- shared
    def _may_send(self, request: web.Request) -> bool:
        return self.senders.take(sender_of(request))

    async def _take(self, notifier: str, urls: Iterable[str], *, proved: bool) -> list[Fate]:
        fates = await self.data.call(self.desk.take, notifier, urls, proved=proved)
        self.desk.count(notifier, fates)
        return fates


def _sender(protocol: str, request: web.Request) -> str:
    return f"{protocol}:{sender_of(request)}"


def _too_many() -> web.Response:
    return web.Response(status=429, text="too many requests", headers=PLAIN)


def _not_found() -> web.Response:
    return web.Response(status=404, headers=PLAIN)
