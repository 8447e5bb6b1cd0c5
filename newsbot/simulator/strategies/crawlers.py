"""What crawlers do: newsbot's own policy objects, and the types of others."""

from __future__ import annotations

from typing import Final

import numpy as np

from newsbot.recrawl.baselines import MinifluxType, NutchType
from newsbot.recrawl.budget import Controller
from newsbot.recrawl.index import SquareRootIndex
from newsbot.recrawl.polling import Array, Polled
from newsbot.recrawl.sources import first_threshold
from newsbot.simulator.sites import PAGE
from newsbot.simulator.strategies.pages import Ages, Optimal, Pages
from newsbot.simulator.strategies.task import Strategy, Task


class Newsbot:
    """Feeds and sections by the threshold index, pages by a policy for pages, each kind by its share of the
    budget: what the crawler does."""

    def __init__(self, task: Task, pages: Pages) -> None:
        self._page = task.world.kinds == PAGE
        share = max(1.0 - float(self._page.mean()), 1e-9)
        self._index, self._pages = _index(task, plain=False, share=share), pages
        self._polls = 0

    def next_polls(self, polled: Polled) -> Array:
        """Learn of each kind; return the next visits."""
        page = self._page[polled.rows]
        found = np.empty(len(page))
        for rows, policy in ((~page, self._index), (page, self._pages)):
            if rows.any():
                one = Polled(polled.rows[rows], polled.at[rows], polled.new[rows], polled.shown[rows])
                found[rows] = policy.next_polls(one)
        self._polls += int((~page).sum())
        return found

    def spend(self, requests: float, hours: float) -> None:  # noqa: ARG002  (pages keep to their own share)
        """Hold the index to its share, find the number of the pages anew."""
        self._index.spend(self._polls, hours)
        self._pages.spend(0, hours)
        self._polls = 0


def _index(task: Task, *, told: bool = False, plain: bool = True, share: float = 1.0) -> SquareRootIndex:
    an_hour, sources = task.an_hour * share, max(1, round(task.sources * share))
    controller = Controller(an_hour, first_threshold(an_hour, sources), 0.5)
    return SquareRootIndex(task.sources, controller, known=task.world if told else None, plain=plain)


STRATEGIES: Final = (
    Strategy(
        "newsbot",
        "the crawler's: threshold index with window and busy hours; pages by the optimum of estimated rates",
        lambda task: Newsbot(task, Optimal(task)),
    ),
    Strategy(
        "newsbot_ages",
        "the same, pages at set ages (the default of the crawler)",
        lambda task: Newsbot(task, Ages(task)),
    ),
    Strategy("threshold", "square-root threshold index with learned hours alone", _index),
    Strategy(
        "threshold_told", "the same, told the true rate of each hour", lambda task: _index(task, told=True)
    ),
    Strategy(
        "nutch",
        "as Apache Nutch: sooner after a change, later after none",
        lambda task: NutchType(task.sources, Controller(task.an_hour, 0.4, 0.5), task.interval),
    ),
    Strategy(
        "miniflux",
        "as Miniflux: by the items of the last week",
        lambda task: MinifluxType(task.sources, Controller(task.an_hour, 1.0, 1.0)),
    ),
)
