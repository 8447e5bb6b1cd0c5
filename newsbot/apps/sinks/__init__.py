"""Sinks: sends all articles, and their changes and removals, to other systems (docs/sinks.md).

A sink is a follower of the changes of articles (:mod:`newsbot.apps.followers.following`). Files in reading
order:

* ``rules``: reads ``sinks.yaml``, and opens the targets by the schemes of their addresses
* ``follower``: chooses the articles of a sink, makes rows of them, and keeps refused ones
* ``rows``: the rows that targets write, and the interface of targets
* ``postgresql``, ``kafka``, ``rabbitmq``, ``files``: targets with a client of their own
* ``opensearch``, ``webhook``: targets that speak HTTP, by :mod:`newsbot.apps.outgoing`
* ``command``: ``scrapy sinks``
"""
