"""Decides how a fetched article is stored. :class:`Verdict` lists the possible results.

All functions are pure. A backend reads the existing records, :func:`decide` returns the decision, and the
backend executes it in the same transaction. So both backends decide in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from newsbot.storage.stories import Joined
from newsbot.urls import canonicalize, fingerprint

KEPT = ("story", "duplicate_of")
"""Fields that a new version takes from the previous one, in addition to the first ``discovered_at``."""


class Verdict(StrEnum):
    """The result of :meth:`Articles.store` for an article."""

    NEW = "new"
    UPDATED = "updated"
    """The stored article with this URL has another text or title. The given article is stored as a new
    version."""
    UNCHANGED = "unchanged"
    """The stored article with this URL has the same text and title."""
    SAME_TEXT = "same_text"
    """Another article of the source has this text. The article is not stored, but its URL is recorded as an
    alias of the other one."""
    TAKEN = "taken"
    """The URL belongs to the article of another page, or is an alias of that article. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of storing an article."""

    verdict: Verdict
    canonical_url: str
    """The canonical URL under which the text is stored."""
    version: int
    """The version of the stored article."""
    joined: Joined | None = None
    """The story of the article, if it was joined with the stories of peers."""


class Record(Protocol):
    """An article in the form of a backend: a row or a document."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a field."""


@dataclass(frozen=True, slots=True)
class Decision:
    """How an article is to be stored."""

    verdict: Verdict
    of: Record
    """The article that the verdict refers to: the given article, the stored article with the same URL, or the
    stored article with the same text."""
    version: int
    addresses: tuple[str, ...] = ()
    """URLs that become aliases of ``of``, except those that have an article themselves."""

    @property
    def stored(self) -> Stored:
        """The return value of :meth:`Articles.store`."""
        return Stored(self.verdict, self.of["canonical_url"], self.version)


def decide(
    given: Record, own: Record | None, owner: Record | None, led_to: Record | None, over: str | None = None
) -> Decision:
    """Decide how the article ``given`` is stored.

    ``own`` is the article stored under the same canonical URL. ``owner`` is another article of the source
    that has, or once had, the same text. ``led_to`` is the article that has the given canonical URL as an
    alias. It is used only if ``own`` and ``owner`` are None and :func:`names_another_page` is true. So
    backends look it up only in that case.
    ``over``: see :meth:`newsbot.storage.articles.Articles.store`.
    """
    if own is None and owner is None:
        # The page names a canonical URL that returned another article. Many sites name wrong canonical URLs.
        if led_to is not None and names_another_page(given):
            return Decision(Verdict.TAKEN, led_to, led_to["version"])
        return Decision(Verdict.NEW, given, 1, fetched_address(given))
    # An unchanged article stays what it is, even if another article has or had the same text.
    if own is not None and _is_same(own, given):
        return Decision(Verdict.UNCHANGED, own, own["version"], fetched_address(given))
    if owner is not None:
        addresses = fetched_address(given)
        if own is None:  # otherwise the canonical URL belongs to ``own``, so it cannot be an alias
            addresses = (given["canonical_url"], *addresses)
        return Decision(Verdict.SAME_TEXT, owner, owner["version"], addresses)
    assert own is not None
    # The text was fetched from another page. Only the page of the stored article may write a new version.
    if over != own["content_hash"] and not of_one_page(own["url"], given["url"]):
        return Decision(Verdict.TAKEN, own, own["version"])
    return Decision(Verdict.UPDATED, given, own["version"] + 1, fetched_address(given))


def names_another_page(given: Record) -> bool:
    """Return True if the canonical URL of an article is not the URL from which it was fetched."""
    return not of_one_page(given["canonical_url"], given["url"])


def of_one_page(one: str, other: str) -> bool:
    """Return True if two URLs belong to one page, or if one of them is not a valid URL."""
    try:
        return fingerprint(canonicalize(one)) == fingerprint(canonicalize(other))
    except ValueError:
        return True


def may_be_plain(given: Sequence[Record]) -> list[bool]:
    """For each article of a batch, return True if it is plainly new unless stored records are in its way.

    None of its URLs, and not its text, is that of an earlier article of the batch. So its result is the same
    if it is stored before the others.
    """
    seen: set[object] = set()
    found = []
    for one in given:
        # bytes for the URLs, a tuple for the text: they cannot be equal by accident
        own: set[object] = {fingerprint(url) for url in (one["canonical_url"], *fetched_address(one))}
        # An empty hash would make all articles without a key of their text look alike.
        if one["content_hash"]:
            own.add((one["source"], one["content_hash"]))
        found.append(seen.isdisjoint(own))
        seen |= own
    return found


def _is_same(own: Record, given: Record) -> bool:
    if own["title"] != given["title"]:
        return False
    if given["content_hash"] and own["content_hash"]:  # empty without the pipeline for exact copies
        return bool(own["content_hash"] == given["content_hash"])
    return bool(own["text"] == given["text"])


def fetched_address(given: Record) -> tuple[str, ...]:
    """Return a tuple of the fetched URL if that is not the canonical URL; otherwise an empty tuple."""
    try:
        fetched = canonicalize(given["url"])
    except ValueError:  # an invalid URL cannot be an alias
        return ()
    return () if fingerprint(fetched) == fingerprint(given["canonical_url"]) else (fetched,)
