"""Pictures of articles reach known readers through the server, if the site allows it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from newsbot import backends
from newsbot.apps.pictures.cache import KEEP_SECONDS, MAX_BYTES, Picture, PictureCache, kind_of
from testbed.messages import Answer, Request
from testbed.mockserver import MockServer
from tests.dashboarddata import make_article
from tests.dashboards import TOKEN, Visitor, settings_of, visit

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 50
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def story(name: str) -> str:
    return f"https://paper.test/{name}"


def store(settings: dict[str, Any], name: str, image: str | None, **fields: Any) -> None:
    storage = backends.open_storage(settings)
    url = story(name)
    article = make_article(0, url=url, canonical_url=url, content_hash=name, source="paper.test", image=image)
    for field, value in fields.items():
        setattr(article, field, value)
    storage.articles.store(article)
    storage.close()


def with_pictures(folder: Path) -> dict[str, Any]:
    return settings_of(folder, NEWSBOT_PICTURES=5, NEWSBOT_ALLOW_PRIVATE=True)


def asked(name: str) -> str:
    return f"/picture?url={quote(story(name), safe='')}"


async def log_in(visitor: Visitor) -> None:
    await visitor.post("/login", {"token": TOKEN, "back": "/"})


async def seen(visitor: Visitor, name: str) -> tuple[int, bytes, Any]:
    async with visitor.client.get(visitor.address + asked(name)) as answer:
        return answer.status, await answer.read(), answer.headers


def test_a_picture_is_fetched_once_and_only_for_people_who_are_logged_in(
    site: MockServer, tmp_path: Path
) -> None:
    settings = with_pictures(tmp_path)
    headers: list[Any] = []

    def picture(request: Request) -> Answer:
        headers.append(request.headers)
        return Answer(body=PNG, headers={"Content-Type": "text/html"})  # the first bytes decide, not this

    site.page("/pic", picture)
    store(settings, "one", site.url("/pic"))

    async def check(visitor: Visitor) -> None:
        status, _, _ = await seen(visitor, "one")
        assert status == 401
        assert "/picture" not in (await visitor.get("/"))[1]
        assert headers == []
        await log_in(visitor)
        assert asked("one").replace("&", "&amp;") in (await visitor.get("/"))[1]
        for _ in range(2):
            status, body, told = await seen(visitor, "one")
            assert (status, body, told["Content-Type"]) == (200, PNG, "image/png")
            assert "sandbox" in told["Content-Security-Policy"]
            assert told["Cache-Control"].startswith("private")
        assert len(headers) == 1
        assert not {"Cookie", "Referer"} & set(headers[0])

    visit(settings, check, token=TOKEN)
    assert [path.read_bytes() for path in (tmp_path / "pictures").iterdir()] == [PNG]


def test_without_the_setting_no_picture_is_fetched_or_shown(site: MockServer, tmp_path: Path) -> None:
    settings = settings_of(tmp_path, NEWSBOT_ALLOW_PRIVATE=True)
    site.page("/pic", PNG)
    store(settings, "one", site.url("/pic"))

    async def check(visitor: Visitor) -> None:
        await log_in(visitor)
        assert "/picture" not in (await visitor.get("/"))[1]
        assert (await seen(visitor, "one"))[0] == 404

    visit(settings, check, token=TOKEN)
    assert not (tmp_path / "pictures").exists()


def test_pictures_that_must_not_be_shown(site: MockServer, tmp_path: Path) -> None:
    settings = with_pictures(tmp_path)
    site.page("/robots.txt", "User-agent: newsbot\nDisallow: /private/\n")
    site.page("/private/pic", PNG)
    site.page("/away", status=302, headers={"Location": site.url("/private/pic")})
    site.page("/svg", SVG, headers={"Content-Type": "image/svg+xml"})
    site.page("/page", "<script>1</script>", headers={"Content-Type": "image/png"})
    site.page("/noindex", PNG, headers={"X-Robots-Tag": "newsbot: noimageindex, nofollow"})
    site.page("/large", PNG + bytes(MAX_BYTES))
    site.page("/gone", PNG, status=404)
    site.page("/pic", PNG)
    for name in ("private/pic", "away", "svg", "page", "noindex", "large", "gone"):
        store(settings, name, site.url(f"/{name}"))
    store(settings, "reserved", site.url("/pic"), rights={"noarchive": "meta"})
    store(settings, "none", None)
    store(settings, "script", "javascript:alert(1)")

    async def check(visitor: Visitor) -> None:
        await log_in(visitor)
        for name in ("private/pic", "away", "svg", "page", "noindex", "large", "gone", "reserved", "none"):
            assert (await seen(visitor, name))[0] == 404, name
        for name in ("script", "unknown"):
            assert (await seen(visitor, name))[0] == 404, name
        before = len(site.log)
        assert (await seen(visitor, "gone"))[0] == 404
        assert len(site.log) == before  # a failure is remembered

    visit(settings, check, token=TOKEN)
    assert not list((tmp_path / "pictures").glob("*"))
    assert "/private/pic" not in [record.path for record in site.log]


def test_addresses_of_the_private_network_are_not_requested(site: MockServer, tmp_path: Path) -> None:
    settings = with_pictures(tmp_path) | {"NEWSBOT_ALLOW_PRIVATE": False}
    site.page("/pic", PNG)
    store(settings, "one", site.url("/pic"))

    async def check(visitor: Visitor) -> None:
        await log_in(visitor)
        assert (await seen(visitor, "one"))[0] == 404

    visit(settings, check, token=TOKEN)
    assert list(site.log) == []


def test_the_disk_holds_the_pictures_that_were_used_last(tmp_path: Path) -> None:
    cache = PictureCache(tmp_path, 2500)
    now = time.time()
    for place, name in enumerate("abc"):
        cache.put(f"https://x.test/{name}", Picture("png", PNG[:8] + bytes(992)))
        for path in tmp_path.iterdir():
            os.utime(path, (now - 100 + place, now - 100)) if path.stat().st_atime > now - 50 else None
        if name == "b":
            assert cache.get("https://x.test/a") is not None  # used later than b
    kept = [name for name in "abc" if cache.get(f"https://x.test/{name}")]
    assert kept == ["a", "c"]
    for path in tmp_path.iterdir():
        os.utime(path, (now, now - KEEP_SECONDS - 60))
    assert cache.get("https://x.test/a") is None
    assert cache.prune(now - KEEP_SECONDS, delete=False) == 2
    assert cache.prune(now - KEEP_SECONDS) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (PNG, "png"),
        (b"\xff\xd8\xff\xe0", "jpg"),
        (b"GIF89a..", "gif"),
        (b"RIFF1234WEBPVP8 ", "webp"),
        (b"\0\0\0\x1cftypavif", "avif"),
        (SVG, None),
        (b"RIFF1234WAVE", None),
        (b"", None),
    ],
)
def test_the_first_bytes_decide_about_the_kind(body: bytes, kind: str | None) -> None:
    assert kind_of(body) == kind
