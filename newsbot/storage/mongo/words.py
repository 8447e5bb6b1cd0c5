"""An article as search sees it: the document of ``words``.

``stems`` has each stem once, for the index; ``title`` and ``text`` have all in order, each between
spaces of its own (`` a  b  a ``), so that phrases are found and words counted by plain comparison.
"""

from __future__ import annotations

from itertools import islice

from newsbot.storage.mongo.connection import Document
from newsbot.storage.stems import stems

MAX_INDEXED = 50_000
"""Different stems of one article that are in the index (a long novel has some 30,000)."""


def to_words(article: Document) -> Document:
    """Return the document of ``words`` for a document of ``articles``."""
    title, text = stems(article["title"]), stems(article["text"])
    return {
        "_id": article["_id"],
        "source": article["source"],
        "language": article["language"],
        "moment": article["moment"],
        "length": len(title) + len(text),
        "stems": list(islice(dict.fromkeys([*title, *text]), MAX_INDEXED)),
        "title": phrase(title),
        "text": phrase(text),
    }


def phrase(words: list[str] | tuple[str, ...]) -> str:
    """Return the stems that follow each other as they stand in ``title`` and ``text``."""
    return "".join(f" {word} " for word in words)
