"""Finds problems of a crawl by rules, and reports them to outputs (docs/monitoring.md).

Files in reading order:

* ``rules``: the alert rules, their thresholds and measurements; the open alerts, each with its outputs
* ``saved``: saved searches, and notices about their new articles
* ``outputs``: sends messages to the log, to a webhook, by e-mail, or to a command
* ``extension``: runs rounds: measures, applies the rules, and sends the messages; ``scrapy alerts``, and the
  saved searches of ``scrapy articles``
"""
