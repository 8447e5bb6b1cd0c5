"""newsbot: a distributed news crawler that people keep.

Packages and modules from the bottom up; each imports only from those above it in this list:

* ``errors``, ``clock``, ``urls``, ``items``: used everywhere
* ``config``: the table of settings, and their checks
* ``connections``: the data file, Redis and MongoDB, opened
* ``cli``: the base of the commands, the terminal, log lines
* ``text``: words, months, time zones, differences of texts
* ``rules``: what is known of each site, as data
* ``rights``: what a site reserves
* ``warc``: writes and reads WARC files
* ``recrawl``: when a page is fetched again
* ``extraction``: from the bytes of a page to an article
* ``frontier``: which URL is fetched next, by whom, and when
* ``search``: queries, the word index, snippets
* ``storage``: pages, articles, stories and sources
* ``dedup``: same and similar texts
* ``discovery``: feeds, sitemaps, sections and the links in them
* ``ranking``: is this link an article, and how soon
* ``push``: notices of changes
* ``backends``: opens frontier, storage and index by the settings
* ``sites``: what workers learn of a site and share
* ``alerts``, ``monitoring``, ``sensor``: what is wrong; reports on sites; what site owners install
* ``crawl``: one crawl, from the lease of a URL to its acknowledgement
* ``middlewares``, ``spiders``, ``pipelines``, ``extensions``: thin Scrapy parts
* ``operations``: what a person does to data
* ``web``: the dashboard, the API and the push receiver
* ``simulator``, ``demo``, ``authoring``: compare strategies; a bundled web; write rules
* ``actions``, ``commands``: what commands do, and their declarations
* ``settings``: Scrapy's settings module
"""

__version__ = "0.1.0"
