"""An article as search sees it: its words as stems, and what it can be filtered by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from newsbot.clock import from_stamp, stamp
from newsbot.items import Article
from newsbot.text.stems import stems
from newsbot.text.words import clean

UNDATED = -(1 << 62)
"""The moment of an article without any date: older than all."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One version of an article. Stems are separated by blanks; ``authors`` by ``" , "``."""

    key: bytes
    """The fingerprint of its canonical URL."""
    version: int
    moment: int
    """Published, or fetched where that is unknown: microseconds since 1970."""
    source: str
    language: str
    authors: str
    title: str
    text: str

    def packed(self) -> bytes:
        """Return all but key and version, as it waits to be indexed."""
        parts = (str(self.moment), self.source, self.language, self.authors, self.title, self.text)
        return "\n".join(parts).encode()


def micros(moment: datetime | None) -> int:
    """Return a time in microseconds since 1970."""
    normal = from_stamp(stamp(moment))
    return UNDATED if normal is None else (normal - _EPOCH) // _MICROSECOND


def entry_of(article: Article, key: bytes, version: int) -> Entry:
    """Return the entry of an article."""
    return Entry(
        key=key,
        version=version,
        moment=micros(article.published_at or article.fetched_at),
        source=_line(article.source),
        language=_line(article.language or ""),
        authors=" , ".join(" ".join(stems(author)) for author in article.authors),
        title=" ".join(stems(article.title)),
        text=" ".join(stems(article.text)),
    )


def unpacked(key: bytes, version: int, body: bytes) -> Entry:
    """Read what :meth:`Entry.packed` wrote."""
    moment, source, language, authors, title, text = body.decode().split("\n")
    return Entry(
        key=key,
        version=version,
        moment=int(moment),
        source=source,
        language=language,
        authors=authors,
        title=title,
        text=text,
    )


def _line(text: str) -> str:
    return " ".join(clean(text).split())
