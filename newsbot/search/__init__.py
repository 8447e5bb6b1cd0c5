"""Full-text search in stored articles, and search for phrases on single pages.

Files in reading order:

* ``query``: parses what people type
* ``expression``: a query as an expression of SQLite's FTS5
* ``events``: groups articles that report one event; its tables are part of the index
* ``index``: the FTS5 tables, in a separate file on each machine that searches
* ``following``: updates the index with the changes of the storage
* ``articles``: searches the index and reads the found articles from the storage
* ``rising``: words in a larger share of today's articles than before
* ``snippets``: the words around a match
* ``phrases``: several texts and expressions in one page, for ``scrapy crawl search``
"""
