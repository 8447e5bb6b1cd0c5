"""Connections to the file and to servers: open, time out, report faults in plain words; they know no tables.

* ``sqlite``: the embedded data file
* ``redis``: Redis and Redis Cluster, and the scripts that run there
* ``mongo``: MongoDB
"""
