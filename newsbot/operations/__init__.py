"""What people do with a crawl and its data: one file for each command of ``scrapy``.

Each file has the action of its command: a function that reads the options, does the work and prints the
result. The modules in :mod:`newsbot.commands` declare subcommands and options. The dashboard uses some of the
functions in this package too.
Some actions are elsewhere: those of ``scrapy rules new|test|learn|import`` are in :mod:`newsbot.authoring`,
the action of ``scrapy serve`` is in :mod:`newsbot.web.service`, the action of ``scrapy demo`` in
:mod:`newsbot.demo.check`.

* ``add``, ``remove``, ``prune``: change data
* ``explain`` (``scrapy why``), ``sources``: explain one URL; report on sites and their sources
* ``articles``, ``article``: find, show and export articles; extract the article of one page
* ``importing``: imports articles from WARC files
* ``exporting``: writes articles to files
* ``move``: copies a crawl from the data file to servers, or back
* ``monitor``, ``searches``, ``alerts``: show other data
* ``rules``: checks and shows rules
* ``crawl_check``: the checks before a crawl starts
* ``workers``: runs several crawl workers, and restarts those that fail
* ``sensor``, ``simulate``: run the other programs
"""
