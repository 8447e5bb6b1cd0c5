"""Finds identical and similar texts, and decides how an article relates to them.

Files in reading order:

* ``minhash``: signatures of texts, and the passages by which texts are looked up
* ``index``: the interface of the near-duplicate index, and the encoding of a text in it
* ``sqlite``: the index in the embedded data file
* ``redis``: the index in Redis, with the scripts in ``lua/``
* ``decision``: decides how an article relates to similar texts; explains the terms near text, neighbour,
  peer. Its number guard separates issues of one template, such as weather reports
* ``story_merge``: joins the stories of texts that resemble each other; makes the index again from stored
  texts
"""
