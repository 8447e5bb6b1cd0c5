"""Sinks: sends all articles, and their changes and removals, to other systems (docs/sinks.md).

A sink is a follower of the changes of articles (:mod:`newsbot.apps.followers.following`). Files in reading
order:

* ``follower``: reads ``sinks.yaml``, opens the targets by the schemes of their addresses, chooses the
  articles of a sink, makes rows of them, and keeps refused ones; ``scrapy sinks``
* ``targets``: the rows that targets write, the interface of targets, and the targets: Parquet files,
  OpenSearch, webhooks, PostgreSQL, Kafka and RabbitMQ. A new target is a class there, and a row of
  ``TARGETS`` in ``follower``
"""

from newsbot.config.apps import App

APP = App(
    name="sinks",
    package="newsbot.apps.sinks",
    needs=("followers", "search"),
    commands={
        "sinks": (
            "Look after",
            "Show, check, run and rewind the sinks that articles are sent to",
            "newsbot.apps.sinks.follower:ACTIONS",
        ),
    },
    settings=True,
    checks=("newsbot.apps.sinks.follower:check",),
    followers=("newsbot.apps.sinks.follower:followers",),
)
