"""The actions of the commands: read the options, call the package that does the work, print the answer.

One file for each command of :mod:`newsbot.commands`, which declares its words and options. The actions of
``scrapy rules new|test|learn|import`` are in :mod:`newsbot.authoring`.

* ``article``: reads one page
* ``articles``, ``articles_export``, ``articles_import``: find, show, export and import articles
* ``sources``, ``why``, ``monitor``, ``searches``, ``alerts``: show other data
* ``add``, ``remove``, ``prune``, ``move``: change data
* ``rules``: checks and shows rules
* ``crawl``: what is checked before a crawl begins; ``workers``: several crawls at once
* ``serve``, ``sensor``, ``demo``, ``simulate``: run the other programs
"""
