"""Moves a crawl between the embedded data file and servers: all of its data, or a part.

Files in reading order:

* ``command``: ``scrapy move``
* ``copies``: copies of all data of a storage, the interfaces that read and write them, one end of a move
  (source or target), and the choice of the data
* ``copies_sqlite``, ``copies_mongodb``: these interfaces for each backend
* ``copying``: copies the data in batches, stores the progress, and compares source and target
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
