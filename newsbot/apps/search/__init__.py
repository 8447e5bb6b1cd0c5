"""Full-text search in stored articles, and search for phrases on single pages.

Files in reading order:

* ``query``: parses the queries that users type, and converts them to expressions of FTS5, the full-text
  search of SQLite; labels of articles that other apps find, such as categories
* ``events``: groups articles that report one event; its tables are part of the index
* ``months``: the FTS5 tables, in a file for each month
* ``index``: the other tables of the index, in a file on each machine that searches
* ``articles``: updates the index with the changes of the storage, searches it, reads the found articles from
  the storage, cuts snippets out of them, and finds words that are in a larger share of articles today than
  before, and which of some articles in memory match queries
* ``usefulness``: counts uses of the articles of each site, to poll useful sites more often
* ``command``: ``scrapy articles search``, ``counts`` and ``index``
* ``stories``: ``scrapy articles stories``, ``split`` and ``reindex``
* ``phrases``: finds several texts and regular expressions in one page, for ``scrapy crawl search``
"""

from newsbot.config.apps import App, Owner

APP = App(
    name="search",
    package="newsbot.apps.search",
    needs=("followers", "operations"),
    machine_followers=("newsbot.apps.search.articles:machine_followers",),
    signs=("newsbot.apps.search.articles:signs",),
    labels={"form": "newsbot.apps.search.query:FormField"},
    notes={"usefulness": Owner.SITE},
    commands={
        "search": ("Read", "Find articles", "newsbot.apps.search.command:SEARCH"),
        "articles": (
            "Read",
            "Find, read, export and import articles",
            "newsbot.apps.search.command:ARTICLES",
        ),
    },
)
