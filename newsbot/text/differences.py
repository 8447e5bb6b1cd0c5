"""The differences between two versions of an article, for people and programs."""

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
"""Fields that are compared as a whole; the text is compared by lines."""
MAX_LINES: Final = 2000
"""Lines of a text that are compared; for longer texts only the size is reported."""

MAX_WORDS: Final = 2000
_WORD = re.compile(r"\S+\s*|\s+")


def changes(before: Article, after: Article) -> dict[str, Any]:
    """Return the differences: field → ``[before, after]``, and ``text`` → ``{"removed": […], "added":
    […]}``.
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
    if max(len(old), len(new)) > MAX_LINES:
        return {"removed": [f"({len(before)} characters)"], "added": [f"({len(after)} characters)"]}
    removed, added = [], []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            removed += old[i:j]
            added += new[k:m]
    return {"removed": removed, "added": added}


def word_changes(removed: Sequence[str], added: Sequence[str]) -> list[tuple[str, str]]:
    """Return the word changes between lines, as pairs of ``kept``, ``removed`` or ``added`` and a text.

    If one side has more than MAX_WORDS words, whole lines are returned.
    """
    old, new = (_WORD.findall("\n".join(lines)) for lines in (removed, added))
    if max(len(old), len(new)) > MAX_WORDS:
        return [("removed", "".join(old)), ("added", "".join(new))]
    found = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        parts = (("kept", old[i:j]),) if tag == "equal" else (("removed", old[i:j]), ("added", new[k:m]))
        found += [(name, "".join(words)) for name, words in parts if words]
    return found


def version_rows(versions: Sequence[Article]) -> list[dict[str, Any]]:
    """Return one row per version, oldest first, with the ``changes`` since the previous one."""
    before = [None, *versions[:-1]]
    return [
        one.to_dict() | {"changes": {} if old is None else changes(old, one)}
        for old, one in zip(before, versions, strict=True)
    ]


def version_lines(versions: Sequence[Article]) -> Iterator[str]:
    """Yield the versions as text: the time and the changes; the first version in full."""
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
            yield "  nothing that is kept of it"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value in (None, "") else str(value)
