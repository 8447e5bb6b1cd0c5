"""Full-text search in stored articles, and search for phrases on single pages.

Files in reading order:

* ``query``: parses what people type
* ``expression``: a query as an expression of SQLite's FTS5
* ``events``: groups articles that report one event, in tables of the index
* ``index``: the FTS5 tables, in a file of their own on each machine that searches
* ``following``: updates the index with the changes of the storage
* ``articles``: searches the index and reads the found articles from the storage
* ``rising``: words that more articles have today than before
* ``snippets``: the words around a match
* ``phrases``: several texts and expressions in one page, for ``scrapy crawl search``
"""
