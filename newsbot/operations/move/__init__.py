"""Moving a crawl between the embedded file and servers: everything, or a sample of it."""

from newsbot.operations.move.copying import copy_all
from newsbot.operations.move.journal import Journal
from newsbot.operations.move.side import Choice, Side
from newsbot.operations.move.verifying import Compared, compare_all

__all__ = ["Choice", "Compared", "Journal", "Side", "compare_all", "copy_all"]
