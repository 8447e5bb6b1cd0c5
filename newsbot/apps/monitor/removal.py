"""Deletes checks, reports and search results of removed pages and domains."""

from __future__ import annotations

from newsbot.apps.monitor.kept_reports import forget_lists, forget_report, monitored
from newsbot.apps.monitor.results import Checks, checks_of, searches_of
from newsbot.apps.operations.remove import Found
from newsbot.items import batched
from newsbot.sites.pauses_and_removals import within
from newsbot.storage.base import REMOVED_AT_ONCE, Storage
from newsbot.storage.notes import Notes
from newsbot.urls import fingerprint, host_key


def forget(found: Found, storage: Storage) -> None:
    """Delete what the monitor and the spider ``search`` have stored about a URL or a domain."""
    checks, searches = checks_of(storage), searches_of(storage)
    for keys in batched(dict.fromkeys([*found.pages, *map(fingerprint, found.addresses)]), REMOVED_AT_ONCE):
        checks.forget(pages=keys)
        searches.forget(pages=keys)
    # Both have pages without a record too.
    if found.domain is not None:
        only = frozenset((found.domain,))
        urls = (one.url for one in searches.records())
        for keys in batched(
            (fingerprint(url) for url in urls if within(host_key(url), only)), REMOVED_AT_ONCE
        ):
            searches.forget(pages=keys)
    _forget_sites(found, checks, storage.notes)


def _forget_sites(found: Found, checks: Checks, notes: Notes) -> None:
    """Delete the checks of removed sites, and the reports and lists that name removed pages."""
    only = frozenset([] if found.domain is None else [found.domain])
    hosts = [host_key(url) for url in found.addresses] + list(only)
    for site in monitored(notes):
        if within(site, only):
            checks.forget(site=site)
            forget_report(notes, site)
        elif any(within(host, frozenset((site,))) for host in hosts):
            # The removed domain may be only a part of the monitored site.
            for page in checks.iter(site):
                if within(host_key(page.url), only):
                    checks.forget(pages=[page.fingerprint])
            forget_lists(notes, site)
