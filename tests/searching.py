"""Searches in a storage that a test has opened."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from weakref import WeakKeyDictionary, finalize

from newsbot.apps.search.articles import ArticleSearch
from newsbot.apps.search.query import Hit
from newsbot.items import Article, ArticleFilter
from newsbot.storage.base import Storage

_FOLDERS: WeakKeyDictionary[Storage, Path] = WeakKeyDictionary()


def find(
    storage: Storage,
    query: str,
    where: ArticleFilter | None = None,
    *,
    limit: int = 20,
    by_time: bool = False,
) -> list[Hit]:
    """Return the results of a search; the index is in a folder of its own and is up to date."""
    folder = _FOLDERS.get(storage)
    if folder is None:
        folder = _FOLDERS[storage] = Path(tempfile.mkdtemp(prefix="newsbot-search-"))
        finalize(storage, shutil.rmtree, folder)
    with closing(ArticleSearch(folder / "search.db", storage.articles)) as search:
        return search.find(query, where, limit=limit, by_time=by_time, patience=60.0)


def paths(storage: Storage, query: str, where: ArticleFilter | None = None, **options: int) -> list[str]:
    """Return the last part of the URL of each found article."""
    return [_path(hit.article) for hit in find(storage, query, where, **options)]  # type: ignore[arg-type]


def _path(article: Article) -> str:
    return article.canonical_url.rsplit("/", 1)[1]
