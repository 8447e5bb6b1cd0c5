"""Alerts: rules that find problems in measurements, and outputs that report them (docs/monitoring.md).

Files in reading order:

* ``rules``: the alert rules and their thresholds; pure functions
* ``measurements``: reads the input of the rules from the data
* ``state``: which alerts are open and which were sent
* ``saved``: saved searches, and notices of their new articles
* ``outputs``: log, webhook, e-mail, command
* ``watch``: one round: measure, apply the rules, send
"""
