"""Deletes checks, reports and search results of removed pages and domains."""

from __future__ import annotations

from newsbot.apps.monitor.kept_reports import forget_lists, forget_report, monitored
from newsbot.apps.operations.remove import Found
from newsbot.items import batched
from newsbot.sites.pauses_and_removals import within
from newsbot.storage.base import Storage
from newsbot.storage.upkeep import REMOVED_AT_ONCE
from newsbot.urls import fingerprint, host_key


def forget(found: Found, storage: Storage) -> None:
    """Delete what the monitor and the spider ``search`` have stored about a URL or a domain."""
    if found.domain is not None:
        _forget_results(found.domain, storage)
    _forget_checks(found, storage)


def _forget_results(domain: str, storage: Storage) -> None:
    """Delete search results for pages of a domain, including pages without a record."""
    searched, only = storage.searches, frozenset((domain,))
    for search in searched.all():
        urls = (one.url for one in searched.results(search.search))
        keys = (fingerprint(url) for url in urls if within(host_key(url), only))
        for some in batched(keys, REMOVED_AT_ONCE):
            storage.removal.pages(some)


def _forget_checks(found: Found, storage: Storage) -> None:
    """Delete the monitor's checks of the removed pages, and the reports and lists that name these pages.

    The monitor also checks pages that have no page record.
    """
    checks, notes = storage.checks, storage.notes
    only = frozenset([] if found.domain is None else [found.domain])
    hosts = [host_key(url) for url in found.addresses] + list(only)
    for url in found.addresses:
        checks.forget(url=url)
    for site in monitored(notes):
        if within(site, only):
            checks.forget(site=site)
            forget_report(notes, site)
        elif any(within(host, frozenset((site,))) for host in hosts):
            # The removed domain may be only a part of the monitored site.
            for page in checks.iter(site):
                if within(host_key(page.url), only):
                    checks.forget(url=page.url)
            forget_lists(notes, site)
