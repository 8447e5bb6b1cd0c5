"""Connects to the data file and to servers, with timeouts, and converts their errors to readable messages.

These modules declare no tables. The packages of the storage, the frontier and the near-duplicate index
declare them.

* ``sqlite``: the embedded data file
* ``redis``: Redis and Redis Cluster, and the Lua scripts that run there
* ``mongo``: MongoDB
* ``http``: addresses that the operator names, such as a webhook
* ``s3``: folders in S3-compatible object stores
"""
