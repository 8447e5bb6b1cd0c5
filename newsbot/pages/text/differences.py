"""Computes the differences between two versions of an article, for readers and for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from newsbot.clock import iso
from newsbot.items import Article

FIELDS: Final = (
    "title", "summary", "authors", "agencies", "published_at", "modified_at", "language", "section", "tags",
    "image", "form", "partial",
)  # fmt: skip
"""Fields that are compared as a whole. The text is compared line by line."""
MAX_LINES: Final = 2000
"""Maximum number of lines that are compared. For longer texts, only the sizes are reported."""

MAX_WORDS: Final = 2000
"""Maximum number of words that :func:`word_changes` compares."""
# A word includes the white space after it, so that the joined words are the original text.
_WORD = re.compile(r"\S+\s*|\s+")


def changes(before: Article, after: Article) -> dict[str, Any]:
    """Return the differences between two versions as a JSON-serializable dictionary.

    The keys are the names of the changed FIELDS, each with ``[before, after]``. If the text has changed,
    ``text`` has ``{"removed": […], "added": […]}`` with the lines of the text.
    """
    rows = before.to_dict(), after.to_dict()
    found: dict[str, Any] = {
        name: [row[name] for row in rows] for name in FIELDS if rows[0][name] != rows[1][name]
    }
    if before.text != after.text:
        found["text"] = _lines(before.text, after.text)
    return found


def _lines(before: str, after: str) -> dict[str, list[str]]:
    old, new = before.splitlines(), after.splitlines()
    # SequenceMatcher takes quadratic time in the worst case.
    if max(len(old), len(new)) > MAX_LINES:
        return {"removed": [f"({len(before)} characters)"], "added": [f"({len(after)} characters)"]}
    removed, added = [], []
    # autojunk would ignore frequent lines in texts of 200 lines or more.
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            removed += old[i:j]
            added += new[k:m]
    return {"removed": removed, "added": added}


def word_changes(removed: Sequence[str], added: Sequence[str]) -> list[tuple[str, str]]:
    """Return the changes between two lists of lines, word by word.

    Each pair is a tag (``kept``, ``removed`` or ``added``) and the text that was kept, removed or added. If
    one side has more than MAX_WORDS words, the words are not compared: all old text is returned as removed
    and all new text as added.
    """
    old, new = (_WORD.findall("\n".join(lines)) for lines in (removed, added))
    if max(len(old), len(new)) > MAX_WORDS:
        return [("removed", "".join(old)), ("added", "".join(new))]
    found = []
    # Words are compared without the white space after them, because the last word of a line has a line break.
    before, after = ([word.rstrip() for word in words] for words in (old, new))
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        parts = (("kept", new[k:m]),) if tag == "equal" else (("removed", old[i:j]), ("added", new[k:m]))
        found += [(name, "".join(words)) for name, words in parts if words]
    return found


def version_rows(versions: Sequence[Article]) -> list[dict[str, Any]]:
    """Return one row per version, oldest first, with the ``changes`` since the previous version."""
    before = [None, *versions[:-1]]
    return [
        one.to_dict() | {"changes": {} if old is None else changes(old, one)}
        for old, one in zip(before, versions, strict=True)
    ]


def version_lines(versions: Sequence[Article]) -> Iterator[str]:
    """Yield the lines of a report on ``versions``: the first version in full, then the changes in each later
    version."""
    for number, one in enumerate(versions):
        yield f"\n--- version {one.version}, fetched {iso(one.fetched_at)}: {one.title}"
        if number == 0:
            yield f"\n{one.text}"
            continue
        differences = changes(versions[number - 1], one)
        text = differences.pop("text", {"removed": [], "added": []})
        for name, (old, new) in differences.items():
            yield f"  {name}: {_shown(old)} -> {_shown(new)}"
        yield from (f"  - {line}" for line in text["removed"])
        yield from (f"  + {line}" for line in text["added"])
        if not differences and not text["removed"] and not text["added"]:
            yield "  no change in the stored fields"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value in (None, "") else str(value)
