"""Alerts: rules over what is measured, and ways to tell people; docs/monitoring.md.

:mod:`newsbot.alerts.rules` finds what is wrong, :mod:`newsbot.alerts.book` remembers what was told (nothing
is told twice), :mod:`newsbot.alerts.outputs` tells it, :mod:`newsbot.alerts.watch` is one round of all.
"""
