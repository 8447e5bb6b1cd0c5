"""The frontier in the embedded data file.

Files in reading order:

* ``frontier``: the frontier itself: chooses the entries that are leased next, ends leases, and computes when
  the next entry can be leased
* ``entries``: the states of a URL as they are stored, and reads and adds entries; ``migrations/`` has the
  tables
"""
