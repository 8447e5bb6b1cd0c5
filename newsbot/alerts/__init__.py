"""Alerts: rules over what is measured, and ways to send what is wrong to people; docs/monitoring.md.

Files in reading order:

* ``rules``: what is wrong, by thresholds; pure functions
* ``measurements``: reads from the data what the rules look at
* ``state``: which alerts are open and which were sent
* ``outputs``: log, webhook, e-mail, command
* ``watch``: one round of all of it
"""
