"""The frontier: which URL is fetched next, by whom, and when.

Files in reading order:

* ``base``: the interface, its types and its guarantees
* ``owners``: names of those who hold leases
* ``sqlite``: the frontier in the embedded data file
* ``redis``: the frontier in Redis, with the scripts in ``lua/``
"""
