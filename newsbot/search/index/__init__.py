"""The word index of both storages: what makes articles findable by their words.

New articles wait in a short list, written with the article in one transaction, and are found there at
once. Whenever some hundreds wait, a thread in the background folds them into a *segment*; segments are
merged as they grow (a log-structured merge tree, O'Neil and others 1996), up to 65,536 articles each. So
the cost of an article does not grow with the index, and no writer waits for it. Segments never change:
they are read without locks.

Modules: ``entry`` (an article as search sees it), ``postings`` (which words stand where), ``layout``
(how a segment lies in blocks), ``segments`` (which ones there are), ``blocks`` (what a backend offers),
``building`` (writing), ``indexer`` and ``background`` (when), ``views``, ``matching``, ``searching`` and
``answering`` (asking).
"""
