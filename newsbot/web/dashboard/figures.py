"""The plots of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from newsbot.clock import utc
from newsbot.sites.statistics import percent
from newsbot.web.dashboard.overview import HOURS, Overview, Period
from newsbot.web.dashboard.plots import Bar, bars, line


def overview_plots(view: Overview) -> dict[str, Any]:
    """Return the plots of the overview by name."""
    day, week = view.last_day, view.last_month
    return {
        "hours_plot": bars(
            f"{day.articles} articles in the last 24 hours; by the hour over {HOURS} hours",
            [Bar(_hour(one), one.articles, _hour_tick(one)) for one in view.hours],
        ),
        "days_plot": bars(
            f"{week.articles} articles in the last 30 days, by the day",
            [Bar(_day(one), one.articles, _day_tick(place, one)) for place, one in enumerate(view.days)],
        ),
        "share_plot": line(
            f"{percent(day.useful_share)} useful share in the last 24 hours",
            [(_hour(one), one.useful_share, _hour_tick(one)) for one in view.hours],
            percent,
        ),
        "errors_plot": fetched_plot(view.hours),
    }


def fetched_plot(hours: Sequence[Period]) -> Markup:
    """Return what was fetched by the hour, and how much of it in vain."""
    fetched, errors = sum(one.fetched for one in hours[-24:]), sum(one.errors for one in hours[-24:])
    return bars(
        f"{fetched} fetched and {errors} errors in the last 24 hours",
        [Bar(_fetched(one), one.fetched, _hour_tick(one), one.errors) for one in hours],
    )


def trend_plot(counts: Sequence[int], now: float) -> Markup:
    """Return new articles by the day, the last of which is today."""
    days = [Period(int(now) - 86400 * (len(counts) - 1 - place), count) for place, count in enumerate(counts)]
    return bars(
        f"{sum(counts)} articles in {len(counts)} days",
        [Bar(_day(one), one.articles, _day(one) if place % 3 == 0 else "") for place, one in enumerate(days)],
    )


def _hour(one: Period) -> str:
    return utc(one.at).strftime("%d %b %H:00")


def _fetched(one: Period) -> str:
    return f"{_hour(one)}, {one.errors} errors; fetched"


def _hour_tick(one: Period) -> str:
    moment = utc(one.at)
    return moment.strftime("%d %b" if moment.hour == 0 else "%H:00") if moment.hour % 6 == 0 else ""


def _day(one: Period) -> str:
    return utc(one.at).strftime("%d %b")


def _day_tick(place: int, one: Period) -> str:
    return _day(one) if place % 5 == 0 else ""
