"""Links of news pages that are not articles (tags, authors, searches, calendars), and the pages behind them.

These pages are endless: each leads to more of its type.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from html import escape

from testbed.demoweb.hosts import Host, slug
from testbed.demoweb.lexicon import load_language
from testbed.demoweb.prose import Language

PER_ARTICLE = 9
LINKS_ON_NOISE = 12
_YEARS = range(2019, 2040)

_Maker = Callable[[random.Random, Language], tuple[str, str]]
"""(chance, language) -> href, anchor text."""


def _tag(rng: random.Random, language: Language) -> tuple[str, str]:
    word = rng.choice(language.words["noun"])
    return f"/tag/{slug(word)}", f"#{word}"


def _author(rng: random.Random, language: Language) -> tuple[str, str]:
    name = rng.choice(language.people[::47])[0]
    return f"/author/{slug(name)}", name


def _search(rng: random.Random, language: Language) -> tuple[str, str]:
    word = rng.choice(language.words["adj"])
    return f"/search?q={slug(word)}&amp;from={rng.randrange(500)}", word


def _login(rng: random.Random, _: Language) -> tuple[str, str]:
    return f"/login?next=%2Fcomments%2F{rng.randrange(10**5)}", "Log in"


def _photo(rng: random.Random, _: Language) -> tuple[str, str]:
    return f"/photo/{rng.randrange(10**6)}.jpg", "Photo"


def _video(rng: random.Random, _: Language) -> tuple[str, str]:
    return f"/video/{rng.randrange(10**4)}", "Video"


def _comments(rng: random.Random, _: Language) -> tuple[str, str]:
    return f"/comments/{rng.randrange(10**5)}", f"{rng.randrange(90)} comments"


def _about(rng: random.Random, _: Language) -> tuple[str, str]:
    page = rng.choice(("contacts", "advertising", "privacy", "imprint", "jobs", "subscribe"))
    return f"/about/{page}", page.capitalize()


def _calendar(rng: random.Random, _: Language) -> tuple[str, str]:
    year, month = rng.choice(_YEARS), rng.randint(1, 12)
    return f"/events/{year}/{month:02}/", f"{month}/{year}"


def _share(rng: random.Random, _: Language) -> tuple[str, str]:
    return f"http://share.elsewhere.example/?post={rng.randrange(10**6)}", "Share"


def _dead(rng: random.Random, _: Language) -> tuple[str, str]:
    return rng.choice(("#comments", "javascript:void(0)", "mailto:desk@demo.example", "tel:+100200300")), "…"


_MAKERS: tuple[_Maker, ...] = (
    *(_tag, _author, _search, _login, _photo, _video),
    *(_comments, _about, _calendar, _share, _dead),
)

_KINDS = {
    "/tag/": "tag",
    "/author/": "author",
    "/search": "search",
    "/login": "login",
    "/photo/": "image",
    "/video/": "video",
    "/comments/": "comments",
    "/about/": "about",
    "/events/": "calendar",
}


def noise_kind(path: str) -> str | None:
    """Return the type of noise of a path, None if it is not noise."""
    return next((kind for start, kind in _KINDS.items() if path.startswith(start)), None)


def noise_links(host: Host, page: str, count: int) -> Iterator[str]:
    """Yield ``count`` links to noise pages; the result depends only on host and page."""
    rng = random.Random(f"{host.name}{page}")  # the site must be reproducible
    language = load_language(host.languages[0])
    for _ in range(count):
        href, text = rng.choice(_MAKERS)(rng, language)
        yield f'<a href="{href}">{escape(text)}</a>'


def noise_page(host: Host, path: str) -> str:
    """Return the content of a noise page, with links to more of its type."""
    links = list(noise_links(host, path, LINKS_ON_NOISE))
    if noise_kind(path) == "calendar":
        links = [*_neighbours(path), *links]
    return f"<h1>{escape(path.strip('/'))}</h1><ul>{''.join(f'<li>{link}</li>' for link in links)}</ul>"


def _neighbours(path: str) -> list[str]:
    """Return links to the previous and the next month: the calendar is endless."""
    digits = [part for part in path.split("/") if part.isascii() and part.isdigit()]
    if len(digits) != 2:
        return []
    months = int(digits[0][:6]) * 12 + int(digits[1][:2]) - 1
    links = []
    for month, text in ((months - 1, "« before"), (months + 1, "after »")):
        links.append(f'<a href="/events/{month // 12}/{month % 12 + 1:02}/">{text}</a>')
    return links
