"""Finds problems of a crawl by rules, and reports them to outputs (docs/monitoring.md).

Files in reading order:

* ``rules``: the alert rules and their thresholds, and the measurements that they need
* ``state``: stores the open alerts, and which outputs have received them
* ``saved``: saved searches, and notices about their new articles
* ``outputs``: the log, a webhook, e-mail, a command
* ``watch``: one round: measure, apply the rules, send
"""
