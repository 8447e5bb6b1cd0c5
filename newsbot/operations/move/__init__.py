"""Moving a crawl between the embedded file and servers: everything, or a sample of it.

Files in reading order:

* ``side``: one of the two ends of a move, and the choice of what is moved
* ``copying``: copies batch by batch
* ``journal``: the progress, in a small file
* ``verifying``: compares both sides
"""

from newsbot.operations.move.copying import copy_all
from newsbot.operations.move.journal import Journal
from newsbot.operations.move.side import Choice, Side
from newsbot.operations.move.verifying import Compared, compare_all

__all__ = ["Choice", "Compared", "Journal", "Side", "compare_all", "copy_all"]
