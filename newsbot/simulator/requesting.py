"""What visits cost, by the way in which they ask: requests and bytes.

``conditional``: GET with validators; a server that honours them answers 304 while nothing has changed. After
a day without a whole answer everything is asked for, as the crawler does. ``head``: HEAD first, GET if
something has changed, or if the server has no validators to tell. ``plain``: GET.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from newsbot.recrawl.polling import DAY, Array, Rows
from newsbot.simulator.compiled import compiled
from newsbot.simulator.sites import Flags, SiteWorld
from newsbot.simulator.visiting import Visits

WAYS: Final = ("conditional", "head", "plain")
HEADERS: Final = 400.0
"""Bytes of an answer without a body: 304, or that to HEAD."""
NOT_FOUND: Final = 1500.0
"""Bytes of an answer that says that a page is gone."""


def costs(world: SiteWorld, visits: Visits, way: str) -> tuple[Array, Array]:
    """Return requests and bytes of each visit."""
    dead = visits.at >= world.gone[visits.rows]
    changed = visits.until > visits.before
    whole = _whole(visits.rows, visits.at, changed, world.ignores, way == "conditional")
    if way == "plain":
        whole[:] = True
    size = np.where(whole, HEADERS + world.size[visits.rows], HEADERS)
    requests = np.ones(len(whole))
    if way == "head":
        requests += whole & ~dead
        size += HEADERS * whole
    return requests, np.where(dead, NOT_FOUND, size)


@compiled
def _whole(rows: Rows, at: Array, changed: Flags, ignores: Flags, daily: bool) -> Flags:
    """Return which visits bring everything; rows and times are sorted."""
    found = np.zeros(len(rows), np.bool_)
    row, last = -1, 0.0
    for place in range(len(rows)):
        first = rows[place] != row
        row = rows[place]
        due = daily and at[place] - last >= DAY
        if first or changed[place] or ignores[row] or due:
            found[place], last = True, at[place]
    return found
