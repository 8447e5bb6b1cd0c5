"""The word index of both storages: it makes articles findable by their words.

New articles wait in a short list, written with the article in one transaction, and are found there at
once. Whenever some hundreds wait, a thread in the background folds them into a *segment*; segments are
merged as they grow (a log-structured merge tree, O'Neil and others 1996), up to 65,536 articles each. So
the cost of an article does not grow with the index, and no writer waits for it. Segments never change:
they are read without locks.

Files in reading order:

* ``entry``: an article as search sees it
* ``postings``: which words are in which articles
* ``layout``: a segment in blocks
* ``segments``: which segments there are
* ``blocks``: the interface of a backend to the index
* ``building``: writes segments
* ``indexer``, ``background``: when segments are written
* ``views``, ``matching``, ``searching``: search segments and waiting articles
* ``answering``: from matches to hits
"""
