"""Writes metrics for Prometheus in the text exposition format 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/ describes the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from newsbot import __version__
from newsbot.storage.sources import SiteRecord
from newsbot.web.dashboard.overview import Overview

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
MAX_SITES: Final = 2000
"""Maximum number of sites that have metrics, because each site uses memory in Prometheus. The sites with the
most fetched pages are chosen."""

Sample = tuple[Mapping[str, str], float | None]
"""Labels and value of a sample."""


class Exposition:
    """Collects the lines of the metrics."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, name: str, kind: str, text: str, samples: Iterable[Sample]) -> None:
        """Add a metric ``newsbot_<name>`` of a kind (gauge, counter) with a help text.

        Samples without a value are left out.
        """
        self._lines += [f"# HELP newsbot_{name} {text}", f"# TYPE newsbot_{name} {kind}"]
        for labels, value in samples:
            if value is not None:
                named = ",".join(f'{label}="{_escaped(told)}"' for label, told in labels.items())
                self._lines.append(f"newsbot_{name}{f'{{{named}}}' if named else ''} {_number(value)}")

    def text(self) -> str:
        """Return the whole exposition."""
        return "\n".join([*self._lines, ""])


def exposition(
    view: Overview, articles: int, sites: Mapping[str, SiteRecord], notices: Mapping[tuple[str, str], int]
) -> str:
    """Return all metrics as text.

    ``articles`` is the number of stored articles. ``notices`` has the number of URLs in push notices by
    protocol and outcome.
    """
    out = Exposition()
    out.add("build_info", "gauge", "The version.", [({"version": __version__}, 1)])
    out.add("articles", "gauge", "Articles stored.", [({}, articles)])
    _queue(out, view)
    quantiles = (("0.5", view.latency.p50), ("0.95", view.latency.p95))
    out.add(
        "latency_seconds",
        "gauge",
        "Time from publication to storage of the last articles.",
        [({"quantile": part}, value) for part, value in quantiles],
    )
    _sites(out, sites)
    out.add(
        "push_notices_total",
        "counter",
        "URLs in notices by protocol and outcome.",
        [
            ({"protocol": protocol, "fate": fate}, count)
            for (protocol, fate), count in sorted(notices.items())
        ],
    )
    return out.text()


def _queue(out: Exposition, view: Overview) -> None:
    queue = view.queue
    states = ("pending", "leased", "done", "aside")
    out.add(
        "frontier_urls",
        "gauge",
        "URLs of the frontier by state.",
        [({"state": state}, getattr(queue, state)) for state in states],
    )
    out.add("frontier_hosts", "gauge", "Hosts of the frontier.", [({}, queue.hosts)])
    out.add("frontier_lag_seconds", "gauge", "How late due entries are.", [({}, queue.lag)])
    out.add("workers", "gauge", "Workers that hold leases.", [({}, len(queue.workers))])
    overdue = sum(worker.overdue for worker in queue.workers)
    out.add("workers_overdue", "gauge", "Workers whose leases have expired.", [({}, overdue)])


_COUNTERS = (
    ("fetched", "Responses to requests."),
    ("pages", "Fetched pages, without feeds, sitemaps and sections."),
    ("article_pages", "Fetched pages that had an article."),
    ("articles", "New articles stored."),
    ("updated", "New versions stored."),
    ("duplicates", "Articles not stored, because the site has the same text already."),
)


def _sites(out: Exposition, sites: Mapping[str, SiteRecord]) -> None:
    records = sorted(sites.values(), key=lambda one: (-one.counters.get("pages", 0), one.source))[:MAX_SITES]
    for name, text in _COUNTERS:
        out.add(
            f"site_{name}_total",
            "counter",
            text,
            [({"site": one.source}, one.counters.get(name)) for one in records],
        )
    out.add(
        "site_errors_total",
        "counter",
        "Failed pages, by cause.",
        [
            ({"site": one.source, "cause": name.removeprefix("errors/")}, value)
            for one in records
            for name, value in sorted(one.counters.items())
            if name.startswith("errors/")
        ],
    )
    out.add(
        "site_last_article_timestamp_seconds",
        "gauge",
        "Time at which the last article was stored.",
        [({"site": one.source}, one.last_article) for one in records],
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
