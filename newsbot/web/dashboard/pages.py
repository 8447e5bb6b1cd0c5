"""The pages for people."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from newsbot.clock import utc
from newsbot.figures import percent
from newsbot.web.dashboard.overview import HOURS, Overview, Period
from newsbot.web.dashboard.plots import Bar, bars, line
from newsbot.web.dashboard.service import Dashboard

SHOWN_ALARMS = 8


async def overview(dashboard: Dashboard, request: web.Request) -> web.Response:
    """How the crawl does as a whole."""
    memos = dashboard.memos
    known = await memos.overview.get()
    found = (await memos.alarms.get()).value
    return dashboard.page(
        request,
        "overview.html",
        here="/",
        view=known.value,
        at=known.at,
        articles=(await memos.articles.get()).value,
        alarms=sorted(found.items())[:SHOWN_ALARMS],
        **_plots(known.value),
    )


def _plots(view: Overview) -> dict[str, Any]:
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
        "errors_plot": bars(
            f"{day.fetched} fetched and {day.errors} errors in the last 24 hours",
            [Bar(_fetched(one), one.fetched, _hour_tick(one), one.errors) for one in view.hours],
        ),
    }


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
