"""The differences between one version of an article and the next, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from newsbot.clock import iso
from newsbot.items import Article

FIELDS: Final = (
    "title", "summary", "authors", "agencies", "published_at", "modified_at", "language", "section", "tags",
    "image", "form", "partial",
)  # fmt: skip
"""Fields that are compared whole; the text is compared by its lines."""
MAX_LINES: Final = 2000
"""Lines of a text that are compared; of longer ones only the size is told."""


def changes(before: Article, after: Article) -> dict[str, Any]:
    """Return what differs: field → ``[before, after]``, and ``text`` → ``{"removed": […], "added": […]}``."""
    rows = before.as_row(), after.as_row()
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


def version_rows(versions: Sequence[Article]) -> list[dict[str, Any]]:
    """Return each version as a row, oldest first, with ``changes`` since the one before."""
    before = [None, *versions[:-1]]
    return [
        one.as_row() | {"changes": {} if old is None else changes(old, one)}
        for old, one in zip(before, versions, strict=True)
    ]


def version_lines(versions: Sequence[Article]) -> Iterator[str]:
    """Yield the versions for people: when, and what changed; the first one whole."""
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
