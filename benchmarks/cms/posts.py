"""The posts that each site of the benchmark publishes: the same texts, times and authors on every machine."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from testbed.demoweb.lexicon import load_language
from testbed.demoweb.prose import Story, Writer

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
"""The moment of the first crawl."""
ZONE = ZoneInfo("Europe/Berlin")
AUTHORS = (
    "Jane Doe",
    "Mary Ellen O'Brien",
    "Piotr Nowak",
    "Anna-Lena Weiß",
    "Ravi K. Menon",
    "Tomás Herrera",
)
DAYS = 28
"""The age of the oldest post. A crawl ignores older entries of sitemaps."""
_NO_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Post:
    """One post. ``published`` is timezone-aware, in the zone of the site; ``blocks`` are ``(kind, text)``."""

    slug: str
    title: str
    author: str
    category: str
    published: datetime
    blocks: tuple[tuple[str, str], ...]
    """Kinds: ``p``, ``h2``, ``li``, ``quote``, ``code``, ``row`` of a table, ``caption`` of a picture."""

    @property
    def text(self) -> str:
        """The text of the post, one block per line."""
        return "\n".join(text for _, text in self.blocks)


def make_posts(count: int, *, new: int = 0, edited: int = 0) -> list[Post]:
    """Return ``count`` posts, newest first, preceded by ``new`` posts of the next day.

    Of the ``count`` posts, every third one gets one more paragraph, beginning with the newest, until
    ``edited`` posts have been changed.
    """
    rng = random.Random(18)
    writer = Writer(load_language("en"), rng)
    step = timedelta(days=DAYS) / count
    posts = [_post(writer.story(), number, NOW - (number + 0.5) * step, rng) for number in range(count)]
    extra = [
        _post(writer.story(), count + number, NOW + timedelta(hours=20) * (number + 1) / (new + 1), rng)
        for number in range(new)
    ]
    for number in range(edited):
        addition = writer.story().paragraphs[0]
        old = posts[3 * number]
        posts[3 * number] = replace(old, blocks=(*old.blocks, ("p", addition)))
    return [*reversed(extra), *posts]


def _post(story: Story, number: int, at: datetime, rng: random.Random) -> Post:
    title = f"{story.title} news" if number % 20 == 0 else story.title  # many site names end with this word
    local = at.astimezone(ZONE).replace(microsecond=0, second=rng.randrange(60))
    return Post(
        slug=_NO_WORD.sub("-", title.lower()).strip("-")[:60].rstrip("-") + f"-{number}",
        title=title,
        author=AUTHORS[number % len(AUTHORS)],
        category=story.topic.slug,
        published=local,
        blocks=tuple(_blocks(story.paragraphs, number)),
    )


def _blocks(paragraphs: Sequence[str], number: int) -> list[tuple[str, str]]:
    """Add a heading, a list and a quotation to every third post."""
    blocks = [("p", text) for text in paragraphs]
    if number % 3 == 0 and len(blocks) > 5:
        blocks[2:2] = [("h2", "What happens next")]
        blocks[4] = ("quote", blocks[4][1])
        blocks[5:6] = [("li", part) for part in re.split(r"(?<=[.!?]) ", blocks[5][1])]
    return blocks


def as_markdown(post: Post) -> str:
    """Return the text of a post as Markdown. The cells of a row are separated by `` | ``."""
    forms = {
        "p": "{}", "h2": "## {}", "li": "- {}", "quote": "> {}", "code": "    {}", "row": "| {} |",
        "caption": '<figure><img src="/picture.png" alt=""><figcaption>{}</figcaption></figure>',
    }  # fmt: skip
    lines: list[str] = []
    before = ""
    for kind, text in post.blocks:
        joined = kind == before and kind in ("li", "code", "row")
        lines.append(("" if joined or not lines else "\n") + forms[kind].format(text))
        if kind == "row" and not joined:
            lines.append("|" + " --- |" * (text.count(" | ") + 1))
        before = kind
    return "\n".join(lines) + "\n"
