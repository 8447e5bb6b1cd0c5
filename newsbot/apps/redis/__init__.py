"""The frontier and the near-duplicate index in Redis, which any number of workers can share.

Files in reading order:

* ``connection``: connects to Redis, Redis Cluster and Sentinels, and runs Lua scripts there
* ``frontier``: the frontier itself
* ``division``: the number of queues
* ``scripts``: runs the Lua scripts of the frontier, in ``lua/frontier/``
* ``layout``: the names of the keys of the frontier, and the encoding of entries
* ``index``: the near-duplicate index, with the scripts in ``lua/index/``
"""
