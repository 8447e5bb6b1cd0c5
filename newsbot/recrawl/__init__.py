"""Decides when a page is fetched again. The package does no I/O, and gets the current time as an argument.

:func:`gate` decides before a download whether the page is downloaded, and with which headers. :func:`plan`
decides after a visit when the page is due again. :func:`retry_delay` returns the delay before a failed visit
is repeated.

Files in reading order:

* ``policy``: the outcome of a visit, and the interface of policies
* ``planning``: before a download, after a visit, and after a failed attempt
* ``budget``: a parameter of a policy that is adjusted to a budget of requests; policies of other programs,
  for comparison and as options
* ``index``: the policy for sources, the square-root rule, and the rate of new items of each source
* ``pages``: the policies for articles and other pages, one of which shares a budget among the pages of a site
"""
