"""When a page is fetched again: decisions only, no I/O, the present moment is passed in.

:func:`gate` says before a download whether it may be made and how; :func:`plan` says after a visit when
the page is due again; :func:`retry_delay` how long a failed visit waits for its next attempt.
Files in reading order:

* ``gating``: before a download
* ``policy``: what a visit brought, and the interface of policies
* ``planning``: after a visit
* ``retry``: after a failed attempt
* ``rhythm``: the rate of new items of each source
* ``index``: the policy for sources, the square-root rule
* ``budget``: the threshold at which that policy meets a budget of requests
* ``pages``: the policies for articles and other pages
* ``optimum``: the policy that shares a budget among the pages of a site
* ``baselines``: other policies, to compare and to select
"""

from newsbot.recrawl.gating import Gate, gate
from newsbot.recrawl.planning import Plan, parse_max_age, parse_retry_after, plan
from newsbot.recrawl.policy import FixedIntervals, Never, Outcome, Policy
from newsbot.recrawl.retry import may_retry, retry_delay

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
