"""Connects to the data file and to servers, with timeouts, and converts their errors to readable messages.

These modules do not know any tables. The tables are declared in the packages of the storage, the frontier and
the near-duplicate index.

* ``sqlite``: the embedded data file
* ``redis``: Redis and Redis Cluster, and the Lua scripts that run there
* ``mongo``: MongoDB
"""
