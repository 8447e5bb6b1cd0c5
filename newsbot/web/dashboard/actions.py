"""Performs the actions of users: queue a URL, poll, pause or resume a site, save or delete a search."""

from __future__ import annotations

from dataclasses import dataclass

from newsbot.alerts import saved
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError
from newsbot.items import Kind
from newsbot.operations.add import entry_by_hand, queue_by_hand
from newsbot.operations.source_report import known_sites, sites_of
from newsbot.sites.pauses import go_on, pause
from newsbot.urls import ascii_host
from newsbot.web.readers import Data

KINDS = ("feed", "sitemap", "section", "article")
MAX_POLLED = 50
"""Maximum number of a site's sources that one action polls: feeds first, then sections, then sitemaps."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an action."""

    verdict: str
    """new, sooner, known; queued, stopped; paused, resumed, unchanged; saved, forgotten; looking, added."""
    text: str
    """A sentence for users that says the same."""


_SAID = {
    "new": "was queued: a running crawl fetches it at once",
    "sooner": "was known and is fetched again now",
    "known": "is already queued or being fetched",
}


def add(data: Data, url: str, kind: str | None) -> Done:
    """Queue a URL, even if it is known.

    ``kind`` is one of :data:`KINDS`, or None for the kind that the site's rule gives to the URL.

    Raises :class:`ArgumentError` for an invalid URL.
    """
    try:
        entry = entry_by_hand(url, data.rules, Kind(kind) if kind else None, data.clock())
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    (verdict,) = queue_by_hand([entry], data.rules, data.storage, data.frontier)
    return Done(verdict.value, f"{entry.url} {_SAID[verdict.value]}.")


def _known(data: Data, site: str) -> str:
    """Return the domain of a site. Raises :class:`ArgumentError` if neither rules nor data have the site."""
    rule = data.rules.get(site)
    domain = rule.domain if rule else ascii_host(site)
    if rule is None and domain not in known_sites(data.storage, data.rules):
        raise ArgumentError(f"{site!r} is not a site of the rules or the data")
    return domain


def save(data: Data, name: str, query: str, tell: str) -> Done:
    """Save a search. ``tell`` says how often new articles are reported, see :mod:`newsbot.alerts.saved`.

    Raises :class:`ArgumentError` for a search that cannot be saved.
    """
    kept = saved.save(data.storage, name, query, tell, data.clock())
    when = "" if tell == "off" else f" New articles are reported {tell.replace('_', ' ')}."
    return Done("saved", f"{kept.name} is saved.{when}")


def forget(data: Data, name: str) -> Done:
    """Delete a saved search. Raises :class:`ArgumentError` if no search has this name."""
    if not saved.forget(data.notes, name):
        raise ArgumentError(f"no search is saved as {name!r}")
    return Done("forgotten", f"{name} is forgotten.")


def poll(data: Data, site: str, url: str | None) -> Done:
    """Queue the sources of a site, or only the source at ``url``, so that they are polled now.

    Raises :class:`ArgumentError` if the site or the source is not known.
    """
    domain = _known(data, site)
    (known,) = sites_of(data.storage, data.rules, domain)
    urls = [(one.url, one.kind) for one in known.sources if one.url == (url or one.url)]
    if not url:  # only sources of the rule, because a crawl finds many other sections
        urls = [one for one in urls if one[0] in known.named][:MAX_POLLED]
    if not urls:
        raise ArgumentError(f"{url or domain}: no such source is known; the crawl looks for feeds by itself")
    rule = data.rules.get(domain)
    entries = [entry_by_hand(one, data.rules, kind, data.clock(), rule) for one, kind in urls]
    queue_by_hand(entries, data.rules, data.storage, data.frontier)
    text = f"{counted(len(urls), 'source')} of {domain} queued: a running crawl polls them at once."
    return Done("queued", text)


def set_pause(data: Data, site: str, *, paused: bool) -> Done:
    """Pause or resume a site. Raises :class:`ArgumentError` if neither the rules nor the data know it."""
    domain = _known(data, site)
    if paused:
        pause(data.notes, domain, data.clock())
        return Done("paused", f"{domain} is paused: within seconds its pages are no longer fetched.")
    if go_on(data.notes, domain):
        return Done("resumed", f"{domain} is resumed.")
    return Done("unchanged", f"{domain} was not paused.")
