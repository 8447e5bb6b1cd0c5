"""Moves a crawl between the embedded data file and servers: all of its data, or a part.

Files in reading order:

* ``command``: ``scrapy move``: copies the data in batches, stores the progress, compares source and target
* ``copies``: copies of all data of a storage, the interface that reads and writes them, one end of a move
  (source or target), and the choice of the data
* ``copies_sqlite``, ``copies_mongodb``: this interface for each backend
"""

from newsbot.config.apps import App

APP = App(
    name="transfer",
    package="newsbot.apps.transfer",
    commands={
        "move": (
            "Look after",
            "Copy a crawl from the data file to Redis and MongoDB, or back",
            "newsbot.apps.transfer.command:ACTIONS",
        ),
    },
)
