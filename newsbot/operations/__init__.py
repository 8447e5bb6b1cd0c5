"""The actions of the ``scrapy`` commands, one file for each command.

An action is a function that reads the options, does the work and prints the result. The modules in
:mod:`newsbot.commands` declare subcommands and options. The dashboard also uses some of the functions in this
package. Some actions are elsewhere: those of ``init`` and ``rules new|test|learn|import`` are in
:mod:`newsbot.authoring`, the action of ``scrapy serve`` is in :mod:`newsbot.web.service`, and the action of
``scrapy demo`` is in :mod:`newsbot.demo.check`.

* ``add``, ``remove``, ``prune``: change data
* ``families``: shows, opens and resets the families of a site's addresses
* ``explain``: explains one URL (``scrapy why``)
* ``sources``: reports on sites and their sources
* ``articles``: finds, shows and exports articles
* ``article``: extracts the article of one page
* ``importing``: imports articles from WARC files
* ``exporting``: writes articles to files
* ``move``: copies a crawl from the data file to servers, or back
* ``monitor``, ``searches``, ``alerts``: show other data
* ``rules``: checks and shows rules
* ``crawl_check``: the checks before a crawl starts
* ``workers``: runs several crawl workers, and restarts those that fail
* ``sensor``, ``simulate``: run the sensor and the simulator
"""
