"""Moves a crawl between the embedded data file and servers: all of its data, or a part.

Files in reading order:

* ``side``: one end of a move (source or target), and the choice of the data
* ``copying``: copies the data in batches
* ``journal``: stores the progress in a small file
* ``verifying``: compares source and target
"""

from newsbot.operations.move.copying import copy_all
from newsbot.operations.move.journal import Journal
from newsbot.operations.move.side import Choice, Side
from newsbot.operations.move.verifying import Compared, compare_all

__all__ = ["Choice", "Compared", "Journal", "Side", "compare_all", "copy_all"]
