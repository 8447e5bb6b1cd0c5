"""The commands of ``scrapy``, as declarations: summary, actions, arguments.

Scrapy takes the name of a command from its module and imports all of these modules at each start, so they
import nothing but :mod:`newsbot.cli.command`. What an action does is in :mod:`newsbot.actions`.

- reading data: ``articles.py``, ``sources.py``, ``why.py``, ``monitor.py``, ``searches.py``, ``alerts.py``
- changing data: ``add.py``, ``remove.py``, ``prune.py``, ``move.py``
- rules: ``rules.py``
- running: ``crawl.py`` (Scrapy's own, with checks before it begins), ``serve.py``, ``sensor.py``,
  ``demo.py``, ``simulate.py``
"""
