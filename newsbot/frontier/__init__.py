"""The frontier decides which URL is fetched next, by which worker, and when.

Files in reading order:

* ``base``: the interface, its types and its guarantees; names of lease owners
* ``sqlite``: the frontier in the embedded data file

The app ``redis`` has the frontier in Redis.
"""
