"""The frontier in the embedded data file.

Files in reading order:

* ``frontier``: the frontier itself
* ``rows``: the states of a URL as they are stored; reads rows. ``migrations/`` has the tables
* ``adding``: adds entries
* ``leasing``: chooses the entries that are leased next
* ``outlook``: computes what is pending, and when the next entry can be leased
* ``transfer``: copies of all entries, for ``scrapy move``
"""
