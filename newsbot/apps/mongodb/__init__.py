"""The storage in MongoDB (a replica set or a sharded cluster), which any number of workers can share.

A write is acknowledged when a majority of the members has written it to the journal. Writes are idempotent
and can be repeated after an error. Only this package and the repositories of apps import pymongo. It has a
file for each of the larger interfaces of :mod:`newsbot.storage`, and:

* ``client``: connects to MongoDB, and converts its errors to readable messages; transactions, reading in
  batches, and the stored form of an article
* ``storage``: the collections, with the reason for each index, and the storage with all its repositories:
  ``articles`` (also stories, and the numbers of changes), ``pages`` (also waiting links), ``sources`` (also
  notes), and removals
"""

from newsbot.config.apps import App

APP = App(
    name="mongodb",
    package="newsbot.apps.mongodb",
    storages=dict.fromkeys(("mongodb", "mongodb+srv"), "newsbot.apps.mongodb.storage:MongoStorage"),
)
