"""Writes text corpora for language models and linguists: shards with quality signals, and a data card.

Files in reading order:

* ``signals``: what a row says of the quality of its text
* ``writing``: the shards and the data card; ``newsbot corpus``
"""
