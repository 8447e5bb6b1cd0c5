"""What happens to an article that comes: new, new version, unchanged, same text or taken.

Pure: a backend looks up what is there, :func:`decide` says what to do, and the backend does it in the same
transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from newsbot.urls import canonicalize, fingerprint

KEPT = ("story", "duplicate_of")
"""Fields that a new version takes over from the version before, beside the first ``discovered_at``."""


class Verdict(StrEnum):
    """What :meth:`Articles.store` did with an article."""

    NEW = "new"
    UPDATED = "updated"
    """Same URL, other text or title: kept as a new version."""
    UNCHANGED = "unchanged"
    """Same URL, same text and title."""
    SAME_TEXT = "same_text"
    """Another article of the source has this text: not stored, its URL is recorded."""
    TAKEN = "taken"
    """Another page's article is kept under this URL, or the URL leads to it: nothing was changed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The verdict and the canonical URL under which the text is kept."""

    verdict: Verdict
    canonical_url: str
    version: int


class Record(Protocol):
    """An article as a backend keeps it: a row or a document."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a field."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to an article that comes."""

    verdict: Verdict
    of: Record
    """The article that the answer is about: the given one, the one under its URL, or the one that has its
    text."""
    version: int
    addresses: tuple[str, ...] = ()
    """URLs that lead to ``of`` from now on, unless they are articles themselves."""

    @property
    def stored(self) -> Stored:
        """The answer of :meth:`Articles.store`."""
        return Stored(self.verdict, self.of["canonical_url"], self.version)


def decide(
    given: Record, own: Record | None, owner: Record | None, led_to: Record | None, over: str | None = None
) -> Decision:
    """Decide what happens to the article ``given``; this is pure, the backends look up and execute.

    ``own`` is the article kept under the same canonical URL, ``owner`` another article of the source that
    has, or once had, the same text, ``led_to`` the article to which the canonical URL leads so far.
    ``led_to`` counts only for a new article that :func:`names_another_page`, so that backends look it up only
    then. ``over``: see :meth:`Articles.store`.
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
    """Return True if two addresses that were fetched belong to one page, or if one of them is not an
    address."""
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
