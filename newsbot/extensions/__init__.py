"""The extensions of newsbot.

* ``logs``: the format of log lines
* ``progress``, ``summary``, ``statsfile``: show the state of a crawl while it runs and at its end
* ``pauses``, ``rulesreload``: apply paused sites and changed rules while a crawl runs
* ``alerts``: sends alerts
* ``samples``: saves a few pages for writing rules
"""
