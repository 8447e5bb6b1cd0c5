"""Moving a crawl between the embedded file and servers: everything, or a sample of it."""

from newsbot.moving.choice import Choice
from newsbot.moving.copying import copy_all
from newsbot.moving.journal import Journal
from newsbot.moving.side import Side
from newsbot.moving.verifying import Compared, compare_all

__all__ = ["Choice", "Compared", "Journal", "Side", "compare_all", "copy_all"]
