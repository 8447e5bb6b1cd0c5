"""Decides whether the canonical URLs that the pages of a site state can be trusted.

A *claim* is a page's statement of its canonical URL. A claim is checked when both pages have been read: the
page that makes the claim, and the page at the canonical URL. The decision depends on the most recently
checked claims of the site. If the URLs alone show that a claim is right
(:mod:`newsbot.pages.extraction.page.canonical`), the claim does not count. If a page is visited several
times, only its last claim counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from newsbot.items import Bounded
from newsbot.storage.notes import Notes, SharedSites
from newsbot.urls import canonicalize, fingerprint

logger = logging.getLogger(__name__)

NOTE_KIND = "canonical"
WINDOW = 30
"""Number of checked claims that are remembered per site."""
ENOUGH = 3
"""Number of right claims after which a site is trusted without further checks."""
OUTWEIGHED = 10
"""A site is trusted only if it has at least this number of right claims for each wrong claim."""
MAX_SITES = 5000
"""Maximum number of sites that are kept in memory."""
MAX_SETTLED = 50_000
"""Maximum number of URLs in :attr:`CanonicalTrust.settled`; they take 4 MB."""


_KEY = 12
"""Length of a page's key. The key consists of the first hexadecimal digits of the fingerprint."""
_Claims = dict[str, bool]
"""Key of the page -> True if its last claim was right. The claim that was checked last is at the end."""


class Word(StrEnum):
    """The degree to which the claims of a site can be trusted."""

    UNPROVEN = "unproven"
    GOOD = "good"
    BAD = "bad"


def word_of(claims: Iterable[bool]) -> Word:
    """Return the degree to which a site can be trusted.

    ``claims`` has one value for each of its last claims: True if the claim was right.
    """
    results = list(claims)
    wrong = results.count(False)
    # A wrong claim hides an article, and a right claim only saves a download. So ten right claims are needed
    # for each wrong claim.
    if wrong:
        return Word.BAD if len(results) - wrong < OUTWEIGHED * wrong else Word.GOOD
    return Word.GOOD if len(results) >= ENOUGH else Word.UNPROVEN


def _add(claims: _Claims, claim: tuple[str, bool]) -> None:
    """Append the claim of a page, and remove the oldest claim if there are more than :data:`WINDOW`."""
    page, right = claim
    claims.pop(page, None)  # otherwise it would stay at its old position
    claims[page] = right
    if len(claims) > WINDOW:
        del claims[next(iter(claims))]


def _claims(note: dict[str, Any]) -> _Claims:
    """Return the claims in a note; an empty dict if the note is invalid."""
    try:
        results = [(str(page)[:_KEY], bool(right)) for page, right in note.get("claims") or ()]
    except (TypeError, ValueError):
        return {}
    return dict(results[-WINDOW:])


def _plain(claims: _Claims) -> dict[str, Any]:
    return {"claims": [[page, int(right)] for page, right in claims.items()]}


class CanonicalTrust(SharedSites[_Claims, tuple[str, bool]]):
    """The trust in all sites of one crawl. :meth:`write` also reads the results of other workers."""

    def __init__(self) -> None:
        super().__init__(NOTE_KIND, _claims, _add, _plain, most=MAX_SITES)
        self.settled = Bounded[bytes, None](MAX_SETTLED)
        """Fingerprints of known URLs that need no check when a list links to them."""

    def word(self, storage: Notes, domain: str) -> Word:
        """Return the degree to which the claims of a site can be trusted. Raises
        :class:`newsbot.errors.DataError`."""
        return word_of(self.of(storage, domain).values())

    def saw(self, storage: Notes, domain: str, page: str, *, right: bool) -> None:
        """Record whether the claim of ``page`` (its URL) was right.

        Raises :class:`newsbot.errors.DataError`.
        """
        before = self.word(storage, domain)
        self.add(storage, domain, (fingerprint(canonicalize(page)).hex()[:_KEY], right))
        if self.word(storage, domain) is Word.BAD is not before:  # warn once, at the change to BAD
            logger.warning(
                "canonical URLs not trusted domain=%s page=%s; the named page contains another"
                " article, so each page of the site is stored under its own URL",
                domain,
                page,
            )

    def write(
        self, notes: Notes, is_out: Callable[[str], bool] = lambda _: False, *, only: str | None = None
    ) -> None:
        """Merge the new claims into the notes, and read the claims of other workers."""
        super().write(notes, is_out, only=only)
        self.read_again(notes)
