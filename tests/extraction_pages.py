"""Pages for tests of extraction: files in ``data/pages``, and small ones built from parts."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from lxml import etree

from newsbot.items import Article, Link, Where
from newsbot.pages.extraction import SiteMemory, read_page
from newsbot.pages.rules.rule import Layout, Rule, read_selector

PAGES = Path(__file__).parent / "data" / "pages"
NOW = datetime(2024, 5, 10, tzinfo=UTC)
URL = "https://www.example.org/news/2024/some-story-about-rain.html"

PROSE = [
    "The river rose in the night and by morning the lower road was closed to all but the fire brigade.",
    "Nobody was hurt, said the mayor, who had walked along the dam at five to see how high the water was.",
    "A second wave is expected on Sunday, when the snow begins to melt and the reservoir is full again.",
    "Volunteers filled nine hundred sandbags before noon, and the school kitchen cooked soup for them.",
]
TEXT = "".join(f"<p>{paragraph}</p>" for paragraph in PROSE)


def saved(name: str) -> bytes:
    """Return a page of ``data/pages``."""
    return (PAGES / name).read_bytes()


def page(
    head: str = "", body: str = TEXT, *, title: str = "Rain closes the lower road", h1: str | None = None
) -> bytes:
    """Return a page; ``h1`` is the title by default."""
    heading = title if h1 is None else h1
    markup = (
        f"<html><head><title>{title}</title>{head}</head><body><article>"
        f"{f'<h1>{heading}</h1>' if heading else ''}{body}</article></body></html>"
    )
    return markup.encode()


def json_ld(text: str) -> str:
    """Return ``text`` as a JSON-LD script."""
    return f'<script type="application/ld+json">{text}</script>'


def read(
    html: bytes,
    url: str = URL,
    *,
    rule: Rule | None = None,
    hint: Link | None = None,
    charset: str | None = None,
    now: datetime = NOW,
    memory: SiteMemory | None = None,
    vouched: bool = True,
) -> Article:
    """Read a page with the tests' date; most pages have no date, so an article is expected."""
    return read_page(
        html, url, rule=rule, hint=hint, charset=charset, now=now, memory=memory, vouched=vouched
    )


def from_feed(
    text: str | None = None, published_at: datetime | None = None, where: Where = Where.FEED
) -> Link:
    """Return the hint for an item of a feed."""
    return Link(url=URL, where=where, text=text, published_at=published_at)


def layout(valid_from: str | None = None, remove: tuple[str, ...] = (), **extract: str | list[str]) -> Layout:
    """Return a layout from selectors in the form of rule files."""
    return Layout(
        valid_from=datetime.fromisoformat(valid_from).date() if valid_from else None,
        extract={
            field: tuple(read_selector(text) for text in ([texts] if isinstance(texts, str) else texts))
            for field, texts in extract.items()
        },
        remove=tuple(read_selector(text) for text in remove),
    )


def rule(*layouts: Layout, timezone: str | None = None, language: str | None = None) -> Rule:
    """Return the rule of the tests' site."""
    return Rule(domain="example.org", layouts=layouts, timezone=timezone, language=language)


def is_within_bounds(work: Callable[[], object]) -> bool:
    """Return True if ``work`` takes under two seconds of CPU time on the reference machine, best of three.

    The time is the CPU time of this thread, so threads that other tests left behind do not count. A shared
    machine is sometimes slower, also in CPU time. The time of a fixed piece of work at the same moment
    corrects for that. Objects of other tests are frozen, so that the garbage collector skips them.
    """

    def seconds(work: Callable[[], object]) -> float:
        before = time.thread_time()
        work()
        return time.thread_time() - before

    def slowness() -> float:
        return max(1.0, seconds(_fixed_work) / _FIXED_WORK_SECONDS)

    gc.collect()
    gc.freeze()
    return any(seconds(work) < 2 * slowness() for _ in range(3))


_FIXED_WORK_SECONDS = 0.05


def _fixed_work() -> None:
    words = [str(number) for number in range(60_000)]
    etree.fromstring("<a>" + "".join(f"<b>{word}</b>" for word in words) + "</a>").xpath("count(//b)")
    " ".join(sorted(words)).split()
