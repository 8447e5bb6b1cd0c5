"""Search: what people ask for, the word index that answers, and texts on single pages.

Files in reading order:

* ``query``: parses what people type
* ``index``: the word index of both storages
* ``snippets``: the words around a match
* ``phrases``: several texts and expressions in one page, for ``scrapy crawl search``
"""
