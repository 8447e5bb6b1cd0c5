"""A storage's articles in memory, with numbered changes, for tests of search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from newsbot.items import Article, ArticleFilter
from newsbot.storage.articles import Change, Changes
from newsbot.urls import fingerprint


class MemoryLibrary:
    """Implements :class:`newsbot.apps.search.articles.Library` in memory."""

    def __init__(self, name: str = "one") -> None:
        self.name = name
        self.articles: dict[bytes, Article] = {}
        self.log: dict[bytes, int] = {}
        self.number = 0

    def store(self, article: Article) -> None:
        key = fingerprint(article.canonical_url)
        known = self.articles.get(key)
        self.articles[key] = replace(article, version=known.version + 1 if known else 1)
        self._note(key)

    def remove(self, url: str) -> None:
        del self.articles[fingerprint(url)]
        self._note(fingerprint(url))

    def _note(self, key: bytes) -> None:
        self.number += 1
        self.log.pop(key, None)
        self.log[key] = self.number

    def changes_since(self, cursor: str = "", limit: int = 500) -> Changes:
        name, _, number = cursor.partition("-")
        restarted = name != self.name or int(number) > self.number
        after = 0 if restarted else int(number)
        found = [(key, at) for key, at in self.log.items() if at > after][:limit]
        changes = [Change(key, self.articles.get(key)) for key, _ in found]
        return Changes(changes, f"{self.name}-{found[-1][1] if found else after}", restarted)

    def changes_after(self, cursor: str) -> int:
        name, _, number = cursor.partition("-")
        return self.number - (int(number) if name == self.name else 0)

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        return {key: self.articles[key] for key in keys if key in self.articles}

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        raise NotImplementedError

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        story = where and where.story
        return iter([one for one in self.articles.values() if one.story == story])

    def count(self, where: ArticleFilter | None = None) -> int:
        return len(self.articles)
