"""Finds identical and similar texts, and decides how an article relates to them.

Files in reading order:

* ``minhash``: signatures of texts, and the passages by which texts are looked up
* ``record``: the encoding of a text in an index
* ``index``: the interface of the near-duplicate index
* ``sqlite``: the index in the embedded data file
* ``redis``: the index in Redis, with the scripts in ``lua/``
* ``numbers``: the number guard, which separates issues of one template, such as weather reports
* ``decision``: decides how an article relates to similar texts; explains the terms near text, neighbour, peer
* ``story_merge``: joins the stories of texts that resemble each other
* ``rebuild``: makes the index again from the stored texts
"""
