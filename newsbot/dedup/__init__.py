"""Finds identical and similar texts, and decides how an article relates to them.

Files in reading order:

* ``minhash``: signatures of texts, and the passages by which texts are looked up
* ``index``: the interface of the near-duplicate index, and the encoding of a text in it
* ``sqlite``: the index in the embedded data file; the app ``redis`` has the index in Redis
* ``comparison``: compares two articles word by word. What was replaced tells different news from one
  template, such as weather reports, from updates and edited copies
* ``decision``: decides how an article relates to similar texts; defines the terms near text, neighbour and
  peer
* ``story_merge``: merges the stories of similar texts; rebuilds the index from stored texts
"""
