"""Gives all changes of articles to the followers of apps, in order and at least once.

* ``following``: the class of a follower, and its position, lease and faults
* ``threads``: runs followers, each in a thread with a storage of its own
* ``extension``: runs them while a news crawl runs
"""
