"""What a site allows to be done with its pages: directives of pages, and reservations against AI training.

Robots directives decide what newsbot itself does. Signals about text and data mining decide nothing here:
they are recorded with each article, so that an export can leave out what its owner has reserved
(:func:`opted_out`). Files in reading order:

* ``directives``: what a page says of itself
* ``tdmrep``: what ``/.well-known/tdmrep.json`` reserves
* ``robotsai``: what robots.txt says about AI
"""

from newsbot.rights.directives import OPT_OUTS, PageRights, opted_out, page_rights
from newsbot.rights.robotsai import RobotsSignals, read_robots
from newsbot.rights.tdmrep import Reservations, read_tdmrep

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
