"""When a page is fetched again: decisions only, no I/O, the present moment is passed in.

:func:`gate` says before a download whether it may be made and how; :func:`plan` says after a visit when
the page is due again; :func:`retry_delay` how long a failed visit waits for its next attempt.
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
