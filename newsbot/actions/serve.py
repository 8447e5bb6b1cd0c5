"""``scrapy serve``: serves the dashboard and its API, and receives notices of changed pages."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from newsbot.cli.command import Call
from newsbot.config.contact import introduce
from newsbot.errors import ArgumentError
from newsbot.web.service import Options, serve


def run(call: Call) -> int:
    """Serve until Ctrl-C."""
    settings = call.settings
    introduce(settings)
    public_url = str(call.options.public_url or settings.get("NEWSBOT_PUBLIC_URL") or "")
    if public_url and urlsplit(public_url).scheme not in ("http", "https"):
        raise ArgumentError(f"--public-url {public_url!r} is not a URL; write https://news.example.org")
    options = Options(
        host=call.options.host,
        port=call.options.port,
        public_url=public_url,
        user_agent=str(settings.get("USER_AGENT")),
        allow_private=settings.getbool("NEWSBOT_ALLOW_PRIVATE"),
        sensor_secret=str(settings.get("NEWSBOT_SENSOR_SECRET") or ""),
        token=str(settings.get("NEWSBOT_WEB_TOKEN") or ""),
        per_host=settings.getfloat("NEWSBOT_PUSH_PER_HOST"),
        per_sender=settings.getfloat("NEWSBOT_PUSH_PER_SENDER"),
    )

    def ready(address: str) -> None:
        call.note(f"listening on {address}")
        if not public_url:
            call.note("without --public-url no WebSub hub can reach this server, so no feed is subscribed")

    asyncio.run(serve(settings, options, ready))
    return 0
