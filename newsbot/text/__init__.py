"""Words, dates and versions of texts, in many languages.

Files in reading order:

* ``words``: what a word is
* ``stems``: words as search compares them
* ``months``: names of months (``months.txt``)
* ``time_zones``: names of time zones
* ``differences``: the differences between two versions of an article
"""
