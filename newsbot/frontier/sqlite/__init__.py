"""The frontier in the embedded data file.

Files in reading order:

* ``frontier``: the frontier itself: chooses the entries that are leased next, ends leases, and computes when
  the next entry can be leased
* ``entries``: reads and adds entries, and documents their stored states; ``migrations/`` has the tables
"""
