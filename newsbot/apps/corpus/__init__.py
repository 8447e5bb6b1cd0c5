"""Writes text corpora for language models and linguists: shards with quality signals, and a data card.

* ``writing``: the signals, the shards and the data card; ``newsbot corpus``
"""
