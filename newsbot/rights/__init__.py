"""Reads what a site allows to be done with its pages: robots directives and reservations against use by AI.

Robots directives control newsbot itself. Signals about AI and text and data mining do not: they are recorded
with each article, so that an export can leave out the articles that their owner has reserved
(:func:`opted_out`).

Files in reading order:

* ``directives``: directives and reservations of a page
* ``site_files``: statements about AI in robots.txt, and reservations in ``/.well-known/tdmrep.json``
"""

from newsbot.rights.directives import OPT_OUTS, PageRights, opted_out, page_rights
from newsbot.rights.site_files import Reservations, RobotsSignals, read_robots, read_tdmrep

__all__ = [
    "OPT_OUTS",
    "PageRights",
    "Reservations",
    "RobotsSignals",
    "opted_out",
    "page_rights",
    "read_robots",
    "read_tdmrep",
]
