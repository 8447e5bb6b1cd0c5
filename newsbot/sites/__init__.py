"""What workers learn of a site and share through notes, and figures of sites.

Files in reading order:

* ``counters``: counters, last article and last error of each site
* ``statistics``: totals, rates and a row for each site, from the stats of a crawl
* ``health``: whether a site still gives articles
* ``canonical_trust``: whether its canonical addresses can be believed
* ``shared_lines``: lines that its articles have in common
* ``rights``: what it says about AI
* ``pauses``: sites that a person has paused
* ``removals``: what was taken out and must stay out
"""
