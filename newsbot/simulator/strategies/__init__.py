"""Strategies that can be compared, by name. Each is a class in a file of this folder.

A strategy is made from a :class:`newsbot.simulator.strategies.task.Task` and is either a
:class:`newsbot.recrawl.polling.PollPolicy` or, like push, makes all visits itself
(:class:`newsbot.simulator.visiting.WholeRun`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from newsbot.simulator.strategies import crawlers, push, shares
from newsbot.simulator.strategies.task import Strategy

STRATEGIES: Final[Mapping[str, Strategy]] = {
    one.name: one for one in (*crawlers.STRATEGIES, *shares.STRATEGIES, *push.STRATEGIES)
}
