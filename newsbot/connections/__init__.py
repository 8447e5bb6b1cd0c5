"""Connects to the data file and to servers, with timeouts, and converts their errors to readable ones.

These modules know no tables: those are in the packages of the storage, the frontier and the near-duplicate
index.

* ``sqlite``: the embedded data file
* ``redis``: Redis and Redis Cluster, and the Lua scripts that run there
* ``mongo``: MongoDB
"""
