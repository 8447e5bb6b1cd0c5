"""The apps: parts of newsbot that can be left out (NEWSBOT_APPS). The core imports none of them.

Each app is a package with an object ``APP`` (:class:`newsbot.config.apps.App`), which says what
the app adds. An app imports another app only if its object says so. Apps of other packages have the same
possibilities (docs/extend.md).

* ``operations``: shows and changes what a crawl knows, and runs its workers
* ``followers``: gives the changes of articles to the followers of apps
* ``progress``: shows the progress of a crawl and its results
* ``signatures``: signs the requests of crawls
* ``redis``: the frontier and the near-duplicate index in Redis
* ``mongodb``: the storage in MongoDB
* ``team``: people with tokens and roles, and a log of what they did
* ``search``: full-text search in articles
* ``alerts``: alerts about problems, and saved searches
* ``web``: the dashboard, the HTTP API and the receiver of push notices
* ``pictures``: pictures of articles on the dashboard
* ``hub``: a WebSub hub for the feeds of the dashboard
* ``sso``: logs people in through a single sign-on
* ``push``: notices of changed pages, and the sensor of site owners
* ``monitor``: checks of sites, and the search for texts on their pages
* ``archive``: WARC files and imports
* ``rendering``: runs the scripts of pages in a browser
* ``documents``: reads PDF and other documents as articles
* ``posts``: posts of blogs and microblogs
* ``mcp``: lets assistants search and read the articles
* ``sinks``: sends all articles to other systems
* ``export``: articles as files and feeds
* ``topics``: categories that are learned from examples
* ``places``: places that articles name
* ``spam``: recognises pages that are made for search engines
* ``corpus``: text corpora with quality signals
* ``transfer``: moves a crawl between the data file and servers
* ``authoring``: writes, tests and learns rules
* ``simulator``: compares polling strategies
* ``demo``: the generated news sites of ``scrapy demo``

These modules are shared by several apps:

* ``outgoing``: requests to addresses that the operator names, and object stores
* ``files``: writes files that appear only when they are complete
* ``numbers``: shares, sizes and times as text
* ``optional``: imports packages that not every newsbot has
"""
