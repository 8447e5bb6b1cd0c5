"""Finds identical and similar texts, and decides how an article relates to them.

Files in reading order:

* ``index``: signatures of texts, and the interface of the near-duplicate index, which looks them up
* ``sqlite``: the index in the embedded data file; the app ``redis`` has the index in Redis
* ``decision``: decides how an article relates to similar texts; defines the terms near text, neighbour and
  peer. Articles are compared word by word. What was replaced tells different news from one template, such as
  weather reports, from updates and edited copies
* ``story_merge``: merges the stories of similar texts; rebuilds the index from stored texts
"""
