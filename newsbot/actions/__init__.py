"""The actions of the commands.

An action reads the options, calls the package that does the work, and prints the result.

There is one file for each command. The modules in :mod:`newsbot.commands` declare subcommands and options.
The actions of ``scrapy rules new|test|learn|import`` are in :mod:`newsbot.authoring`.

* ``article``: extracts the article of one page
* ``articles``, ``articles_export``, ``articles_import``: find, show, export and import articles
* ``sources``, ``why``, ``monitor``, ``searches``, ``alerts``: show other data
* ``add``, ``remove``, ``prune``, ``move``: change data
* ``rules``: checks and shows rules
* ``crawl``: the checks before a crawl starts; ``workers``: runs several crawl workers
* ``serve``, ``sensor``, ``demo``, ``simulate``: run the other programs
"""
