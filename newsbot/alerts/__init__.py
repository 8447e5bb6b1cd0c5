"""Finds problems of a crawl by rules, and reports them to outputs (docs/monitoring.md).

Files in reading order:

* ``rules``: the alert rules and their thresholds, and the measurements that they need
* ``state``: stores which alerts are open and which were sent
* ``saved``: saved searches, and notices about their new articles
* ``outputs``: send to the log, a webhook, by e-mail, or to a command
* ``watch``: one round: measure, apply the rules, send
"""
