"""Whether the canonical addresses that a site names can be believed: its last claims that could be checked.

A claim is checked when both pages were read: the one that names another as its canonical address, and the
one that is named. Claims that show by their form (:mod:`newsbot.extraction.page.variants`) are not
counted. A page
that is looked at again and again counts once, with its last claim.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import islice
from typing import Any

from newsbot.storage.notes import Notes
from newsbot.storage.shared_notes import SharedNotes
from newsbot.urls import canonicalize, fingerprint

logger = logging.getLogger(__name__)

NOTE_KIND = "canonical"
WINDOW = 30
"""Checked claims of a site that are remembered."""
ENOUGH = 3
"""Claims that were right, by which a site is believed before its next one is checked."""
OUTWEIGHED = 10
"""Claims that were right, for each that was wrong, by which a site is still believed."""
MAX_SITES = 20_000
MAX_SETTLED = 50_000
"""Known addresses of which a worker remembers that nothing is to be asked; 4 MB."""


_KEY = 12
"""Characters of a page's key."""
_Claims = dict[str, bool]
"""By the page that made it, whether a claim was right; the last one at the end."""


class Word(StrEnum):
    """What a site's word is worth."""

    UNPROVEN = "unproven"
    GOOD = "good"
    BAD = "bad"


def word_of(claims: Iterable[bool]) -> Word:
    """Return what the word of a site is worth whose last claims were right (True) or wrong."""
    told = list(claims)
    wrong = told.count(False)
    if wrong:
        return Word.BAD if len(told) - wrong < OUTWEIGHED * wrong else Word.GOOD
    return Word.GOOD if len(told) >= ENOUGH else Word.UNPROVEN


class CanonicalTrust:
    """The sites of one crawl. What other workers saw is known here from the next beat on."""

    def __init__(self) -> None:
        self._sites: dict[str, _Claims] = {}
        self._new: dict[str, _Claims] = {}
        """What was seen since the last writing."""
        self._read = False
        self.settled: set[bytes] = set()
        """Known addresses that need no second look when a list offers them."""

    def word(self, storage: Notes, domain: str) -> Word:
        """Return what a site's word is worth. Raises :class:`newsbot.errors.DataError`."""
        self._load(storage)
        return word_of(self._sites.get(domain, {}).values())

    def saw(self, storage: Notes, domain: str, page: str, *, right: bool) -> None:
        """Take in what came of the claim of a ``page`` (its URL).

        Raises :class:`newsbot.errors.DataError`.
        """
        self._load(storage)
        if domain in self._sites or len(self._sites) < MAX_SITES:
            before = self.word(storage, domain)
            key = fingerprint(canonicalize(page)).hex()[:_KEY]
            _add(self._sites.setdefault(domain, {}), {key: right})
            _add(self._new.setdefault(domain, {}), {key: right})
            if self.word(storage, domain) is Word.BAD is not before:
                logger.warning(
                    "canonical addresses not believed domain=%s page=%s; the page that it names has another"
                    " article, so each page of the site is kept under its own address",
                    domain,
                    page,
                )

    def write(self, storage: Notes, is_out: Callable[[str], bool] = lambda _: False) -> None:
        """Add what was seen to what all workers saw, but of sites that ``is_out`` names: they were taken out.

        Raises :class:`newsbot.errors.DataError`; what could not be written is written next time.
        """
        for domain in [one for one in self._new if is_out(one)]:
            del self._new[domain]
        if not self._read:
            return
        for domain in _SHARED.write(storage, self._new):
            del self._new[domain]
        for domain, note in storage.all(NOTE_KIND).items():
            if domain not in self._new:
                self._sites[domain] = _claims(note)

    def _load(self, storage: Notes) -> None:
        if not self._read:
            for domain, note in storage.all(NOTE_KIND).items():
                self._sites[domain] = _claims(note)
            self._read = True


def _add(claims: _Claims, new: _Claims) -> _Claims:
    """Add claims at the end, and forget what is over."""
    for page, right in new.items():
        claims.pop(page, None)
        claims[page] = right
    for page in list(islice(claims, max(0, len(claims) - WINDOW))):
        del claims[page]
    return claims


def _claims(note: dict[str, Any] | None) -> _Claims:
    """Read a note; what cannot be read counts as nothing seen."""
    told = None if note is None else note.get("claims")
    try:
        return _add({}, {str(page)[:_KEY]: bool(right) for page, right in told or ()})
    except (TypeError, ValueError):
        return {}


def _with_claims(note: dict[str, Any] | None, new: _Claims) -> dict[str, Any]:
    claims = _add(_claims(note), new)
    return {"claims": [[page, int(right)] for page, right in claims.items()]}


_SHARED = SharedNotes(NOTE_KIND, _with_claims)
