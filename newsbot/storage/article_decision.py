"""Decides how a fetched article is stored: new, new version, unchanged, same text or taken.

Pure functions: a backend reads the existing records, :func:`decide` returns the decision, and the backend
carries it out in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from newsbot.urls import canonicalize, fingerprint

KEPT = ("story", "duplicate_of")
"""Fields that a new version takes from the previous one, in addition to the first ``discovered_at``."""


class Verdict(StrEnum):
    """The result of :meth:`Articles.store` for an article."""

    NEW = "new"
    UPDATED = "updated"
    """Same URL, different text or title: stored as a new version."""
    UNCHANGED = "unchanged"
    """Same URL, same text and title."""
    SAME_TEXT = "same_text"
    """Another article of the source has this text: not stored, but its URL is recorded."""
    TAKEN = "taken"
    """The URL belongs to the article of another page, or is an alias of it: nothing was changed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The verdict, and the canonical URL that the text is stored under."""

    verdict: Verdict
    canonical_url: str
    version: int


class Record(Protocol):
    """An article in a backend's own form: a row or a document."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a field."""


@dataclass(frozen=True, slots=True)
class Decision:
    """How an article is to be stored."""

    verdict: Verdict
    of: Record
    """The article that the verdict refers to: the given one, the one under its URL, or the one with its
    text."""
    version: int
    addresses: tuple[str, ...] = ()
    """URLs that become aliases of ``of``, unless they are articles themselves."""

    @property
    def stored(self) -> Stored:
        """The return value of :meth:`Articles.store`."""
        return Stored(self.verdict, self.of["canonical_url"], self.version)


def decide(
    given: Record, own: Record | None, owner: Record | None, led_to: Record | None, over: str | None = None
) -> Decision:
    """Decide how the article ``given`` is stored.

    ``own`` is the article stored under the same canonical URL. ``owner`` is another article of the source
    that has, or once had, the same text. ``led_to`` is the article that the canonical URL is an alias of. It
    matters only for a new article that :func:`names_another_page`; backends look it up only in that case.
    :meth:`Articles.store` documents ``over``.
    """
    if own is None and owner is None:
        if led_to is not None and names_another_page(given):
            return Decision(Verdict.TAKEN, led_to, led_to["version"])
        return Decision(Verdict.NEW, given, 1, _fetched_address(given))
    if own is not None and _is_same(own, given):
        return Decision(Verdict.UNCHANGED, own, own["version"], _fetched_address(given))
    if owner is not None:
        addresses = _fetched_address(given)
        if own is None:
            addresses = (given["canonical_url"], *addresses)
        return Decision(Verdict.SAME_TEXT, owner, owner["version"], addresses)
    assert own is not None
    if over != own["content_hash"] and not of_one_page(own["url"], given["url"]):
        return Decision(Verdict.TAKEN, own, own["version"])
    return Decision(Verdict.UPDATED, given, own["version"] + 1, _fetched_address(given))


def names_another_page(given: Record) -> bool:
    """Return True if an article's page names the URL of another page as its canonical URL."""
    return not of_one_page(given["canonical_url"], given["url"])


def of_one_page(one: str, other: str) -> bool:
    """Return True if two fetched URLs belong to one page, or if one of them is not a URL."""
    try:
        return fingerprint(canonicalize(one)) == fingerprint(canonicalize(other))
    except ValueError:
        return True


def _is_same(own: Record, given: Record) -> bool:
    if own["title"] != given["title"]:
        return False
    if given["content_hash"] and own["content_hash"]:
        return bool(own["content_hash"] == given["content_hash"])
    return bool(own["text"] == given["text"])


def _fetched_address(given: Record) -> tuple[str, ...]:
    """The address that was fetched, where the page names another one as canonical."""
    try:
        fetched = canonicalize(given["url"])
    except ValueError:  # nobody can ask for it
        return ()
    return () if fingerprint(fetched) == fingerprint(given["canonical_url"]) else (fetched,)
