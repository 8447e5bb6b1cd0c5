"""``scrapy spam``, and the pages with a sign of spam in the verdict on the crawl."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from newsbot.apps.operations.verdict import Sign
from newsbot.backends import stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted
from newsbot.clock import iso, utc
from newsbot.config.check import SettingsLike
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import ascii_host

SITES = "spam_sites"
"""Kind of the notes with the sites that have such pages; the key is the domain."""
KIND = "spam:"
"""Kind of the notes about pages, before the domain of the site. The key is the URL of the page."""
MAX_PAGES = 1_000
"""Maximum number of pages of a site that are listed. Further ones are only counted by the crawl."""


def pages_of(notes: Notes, domain: str) -> dict[str, dict[str, Any]]:
    """Return the pages of a site with a sign of spam: URL -> sign, detail and time."""
    return notes.all(KIND + domain)


def listing(call: Call) -> None:
    """List the pages with a sign of spam."""
    wanted = call.options.site and ascii_host(call.options.site.lower())
    with stored(call.settings, stale=True) as storage:
        rows = [
            {"site": site, "url": url, **note, "at": iso(utc(note["at"]))}
            for site in ([wanted] if wanted else sorted(storage.notes.all(SITES)))
            for url, note in sorted(pages_of(storage.notes, site).items())
        ]
    call.listing(
        rows,
        columns("site | sign | detail | url *"),
        ((row["site"], row["sign"].replace("_", " "), row["detail"], row["url"]) for row in rows),
        empty="no page with a sign of spam",
    )


def signs(settings: SettingsLike, storage: Storage) -> Iterator[Sign]:  # noqa: ARG001  (the form of all signs)
    """Yield the sites with pages that have a sign of spam."""
    for site in sorted(storage.notes.all(SITES)):
        if found := pages_of(storage.notes, site):
            number = counted(len(found), "page")
            yield Sign(text=f"{site}: {number} with a sign of spam; see: {PROGRAM} spam {site}")


ACTIONS = (
    Action(
        "",
        "List the pages of sites on which a crawl or a check of the site found a sign of spam",
        listing,
        Argument("site", nargs="?", help="only pages of this site (a domain)"),
    ),
)
