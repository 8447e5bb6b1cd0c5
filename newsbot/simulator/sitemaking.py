"""Generates a world of sources: hours and days, batches, bursts, edits, deaths, hosts.

Rates of sources are lognormal. Each source has a busiest hour, a night, a quieter weekend. Items come as a
Poisson process of that rate, some in batches, now and then many more in a burst. Pages are edited mostly when
they are young, change slowly ever after, and die.
"""

from __future__ import annotations

import numpy as np

from newsbot.recrawl.polling import DAY, HOUR, Array, Rows
from newsbot.simulator.memory import require
from newsbot.simulator.sites import FEED, PAGE, SECTION, THURSDAY, WEEK_HOURS, SiteWorld, sort_events
from newsbot.simulator.sitesettings import SiteSettings

BYTES_AN_HOUR = 48.0
"""Memory that an hour of a source takes while a world is made."""
BYTES_AN_EVENT = 120.0
"""Memory that an event takes, from its making to the figures."""
ZONES = (0.0, 3.0, 8.0, 17.0, 20.0)
"""Hours by which the days of newsrooms are shifted, with how many have each."""
ZONE_SHARES = (0.35, 0.25, 0.1, 0.2, 0.1)
RELEASE = 60.0
"""Seconds that the items of a batch are spread over."""
PAGE_SIGMA = 1.0
SIZE_SIGMA = 0.8
RESPONSE_SIGMA = 0.6


def require_memory(settings: SiteSettings) -> None:
    """Raise :class:`newsbot.errors.UserError` if the world is too large for memory, before it is made."""
    sources = settings.feeds + settings.sections
    mean = min(settings.most, settings.median * np.exp(settings.sigma**2 / 2))
    items = 1.5 * sources * mean + settings.pages * settings.changes * np.exp(PAGE_SIGMA**2 / 2)
    needed = BYTES_AN_EVENT * (items * settings.days + settings.pages * settings.edits)
    needed += BYTES_AN_HOUR * 24 * settings.days * (sources + settings.pages)
    require(needed, f"a world of {sources + settings.pages:,} sources and {settings.days} days")


def make_sites(settings: SiteSettings, seed: int) -> SiteWorld:
    """Return a world; the same settings and seed give the same one."""
    draws = iter(np.random.default_rng([seed, 8]).spawn(5))
    kinds = np.repeat([FEED, SECTION, PAGE], [settings.feeds, settings.sections, settings.pages])
    count, end = len(kinds), settings.days * DAY
    page = kinds == PAGE
    born, gone = _lives(settings, page, next(draws))
    hourly = _rates(settings, page, next(draws))
    owners, moments = _publish(settings, hourly, page, next(draws))
    more_owners, more_moments = _edits(settings, page, born, next(draws))
    dying = np.flatnonzero(gone < end)
    owners = np.concatenate([owners, more_owners, dying])
    moments = np.concatenate([moments, more_moments, gone[dying]])
    lives = (moments >= born[owners]) & (moments <= gone[owners]) & (moments < end)
    moments, first, keys = sort_events(owners[lives], moments[lives], count, end)
    draw = next(draws)
    host = draw.permutation(count) % settings.hosts
    ignoring = draw.uniform(size=settings.hosts) < settings.ignoring
    slowness = np.exp(draw.normal(0, RESPONSE_SIGMA, count))
    return SiteWorld(
        begin=0.0,
        learned=settings.learn * DAY,
        end=end,
        kinds=kinds,
        window=np.array([settings.window, settings.section_window, 0], np.intp)[kinds],
        born=born,
        gone=gone,
        mortal=page,
        size=np.array([settings.feed_bytes, settings.page_bytes, settings.page_bytes])[kinds]
        * np.exp(draw.normal(0, SIZE_SIGMA, count)),
        response=settings.response * slowness,
        ignores=ignoring[host],
        host=host,
        hosts=[f"host {number + 1}" for number in range(settings.hosts)],
        host_delay=settings.host_delay,
        hourly=hourly,
        moments=moments,
        first=first,
        keys=keys,
    )


def _lives(settings: SiteSettings, page: np.ndarray, draw: np.random.Generator) -> tuple[Array, Array]:
    """Return from when until when each source exists; feeds and sections always do."""
    count, end = len(page), settings.days * DAY
    later = page & (draw.uniform(size=count) < settings.born)
    born = np.where(later, draw.uniform(0, end, count), 0.0)
    if not settings.deaths:
        return born, np.full(count, np.inf)
    return born, np.where(page, born + draw.exponential(DAY / settings.deaths, count), np.inf)


def _rates(settings: SiteSettings, page: np.ndarray, draw: np.random.Generator) -> Array:
    """Return events an hour of each source in each hour of a week."""
    count = len(page)
    normal = draw.normal(size=count)
    items = np.minimum(settings.median * np.exp(settings.sigma * normal), settings.most)
    a_day = np.where(page, settings.changes * np.exp(PAGE_SIGMA * normal), items)
    busiest = draw.choice(ZONES, count, p=ZONE_SHARES) + draw.normal(13.0, 2.5, count)
    sharpness = settings.diurnal * draw.uniform(0.6, 2.2, count)[:, None]
    angle = 2 * np.pi * (np.arange(24) + 0.5 - busiest[:, None]) / 24
    by_hour = np.exp(sharpness * np.cos(angle)) + 0.05
    by_hour *= 24 / by_hour.sum(axis=1, keepdims=True)
    weekend = draw.uniform(0.25, 1.0, (count, 1)) * draw.uniform(0.85, 1.15, (count, 2))
    by_day = np.ones((count, 7))
    by_day[:, 5:] += settings.weekly * (np.minimum(weekend, 1.0) - 1)
    by_day *= 7 / by_day.sum(axis=1, keepdims=True)
    week = by_day[:, :, None] * by_hour[:, None, :]
    return np.asarray((a_day[:, None, None] / 24 * week).reshape(count, WEEK_HOURS))


def _publish(
    settings: SiteSettings, hourly: Array, page: np.ndarray, draw: np.random.Generator
) -> tuple[Rows, Array]:
    """Return the sources and moments of items and of slow changes, in no order."""
    count, hours = len(hourly), settings.days * 24
    rates = hourly[:, (np.arange(hours) + THURSDAY * 24) % WEEK_HOURS]
    more = np.minimum(rates * (settings.burst_factor - 1), settings.burst_most)
    rates = rates + more * _bursts(settings, page, draw)
    batched = ~page & (draw.uniform(size=count) < settings.batching)
    mean_size = np.where(batched, settings.batch, 1.0)
    releases = draw.poisson(rates / mean_size[:, None]).ravel()
    cell = np.repeat(np.arange(count * hours), releases)
    moments = (cell % hours + draw.uniform(size=len(cell))) * HOUR
    owners = cell // hours
    sizes = np.where(batched[owners], draw.geometric(1 / settings.batch, len(cell)), 1)
    together = np.repeat(batched[owners], sizes)
    owners, moments = np.repeat(owners, sizes), np.repeat(moments, sizes)
    return owners, moments + together * draw.uniform(0, RELEASE, len(moments))


def _bursts(settings: SiteSettings, page: np.ndarray, draw: np.random.Generator) -> Array:
    """Return the share of each hour of each source that is in a burst."""
    hours = settings.days * 24
    share = np.zeros((len(page), hours))
    number = np.where(page, 0, draw.poisson(settings.bursts * settings.days / 7, len(page)))
    owners = np.repeat(np.arange(len(page)), number)
    begins = draw.uniform(0, hours, len(owners))
    ends = np.minimum(begins + draw.exponential(settings.burst_hours, len(owners)), hours)
    for owner, begin, end in zip(owners, begins, ends, strict=True):
        hour = np.arange(int(begin), int(np.ceil(end)))
        inside = np.minimum(hour + 1, end) - np.maximum(hour, begin)
        share[owner, hour] = np.maximum(share[owner, hour], inside)
    return share


def _edits(
    settings: SiteSettings, page: np.ndarray, born: Array, draw: np.random.Generator
) -> tuple[Rows, Array]:
    """Return pages and moments of the edits of young pages; those there from the start are old."""
    number = np.where(page & (born > 0), draw.poisson(settings.edits, len(page)), 0)
    owners = np.repeat(np.arange(len(page)), number)
    return owners, born[owners] + draw.exponential(settings.edit_hours * HOUR, len(owners))
