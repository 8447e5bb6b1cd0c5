"""Decides when a page is fetched again. The package does no I/O, and gets the current time as an argument.

:func:`gate` decides before a download whether the page is downloaded, and with which headers. :func:`plan`
decides after a visit when the page is due again. :func:`retry_delay` returns the delay before a failed visit
is repeated.

Files in reading order:

* ``gating``: before a download
* ``policy``: the outcome of a visit, and the interface of policies
* ``planning``: after a visit, and after a failed attempt
* ``rhythm``: the rate of new items of each source
* ``index``: the policy for sources, the square-root rule
* ``budget``: the threshold at which that policy meets a budget of requests
* ``pages``: the policies for articles and other pages
* ``optimum``: the policy that shares a budget among the pages of a site
* ``baselines``: other policies, for comparison and as options
"""

from newsbot.recrawl.gating import Gate, gate
from newsbot.recrawl.planning import Plan, may_retry, parse_max_age, parse_retry_after, plan, retry_delay
from newsbot.recrawl.policy import FixedIntervals, Never, Outcome, Policy

__all__ = [
    "FixedIntervals",
    "Gate",
    "Never",
    "Outcome",
    "Plan",
    "Policy",
    "gate",
    "may_retry",
    "parse_max_age",
    "parse_retry_after",
    "plan",
    "retry_delay",
]
