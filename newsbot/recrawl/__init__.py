"""Decides when a page is fetched again. The package does no I/O, and gets the current time as an argument.

``gate`` decides before a download whether the page is downloaded, and with which headers. ``plan``
decides after a visit when the page is due again. ``retry_delay`` returns the delay before a failed visit
is repeated.

Files in reading order:

* ``planning``: the decisions before a download, after a visit, and after a failed attempt; the interface of
  policies
* ``policies``: the policies. The default policy for sources polls in proportion to the square root of the
  rate of new items. The other policies for sources are those of other crawlers, adjusted to a budget of
  requests. One policy for articles and other pages shares a budget among the pages of a site
"""
