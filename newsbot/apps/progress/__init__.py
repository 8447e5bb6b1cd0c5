"""Shows the state of a crawl while it runs and at its end.

* ``figures``: totals, rates and a row for each site, from the stats of a crawl
* ``display``: a live display on a terminal, or log lines
* ``summary``: the table at the end of a crawl
* ``statsfile``: the stats as a file for other programs
"""
