"""The storage in MongoDB (a replica set or a sharded cluster), which any number of workers can share.

A write is acknowledged when a majority of the members has written it to the journal. Writes are idempotent
and can be repeated after an error. Only this package and the repositories of apps import pymongo. It has one
file for each interface of :mod:`newsbot.storage`, except:

* ``client``: connects to MongoDB, and converts its errors to readable messages
* ``connection``: transactions, and reading in batches
* ``schema``: the collections, and the reason for each index
* ``documents``: the stored form of an article
* ``changes``: numbers the changes of articles
* ``storage``: the storage with all its repositories: ``articles``, ``pages``, ``stories``, ``sources``,
  ``notes``, ``waiting`` and ``removal``
"""
