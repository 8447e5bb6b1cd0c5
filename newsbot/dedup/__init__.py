"""Same and similar texts: signatures, the near-duplicate index, and the decision what a text is to others.

Files in reading order:

* ``minhash``: signatures of texts, and the passages that texts are looked up by
* ``record``: a text as an index keeps it
* ``index``: the interface of the near-duplicate index
* ``sqlite``: the index in the embedded data file
* ``redis``: the index in Redis, with the scripts in ``lua/``
* ``numbers``: the number guard, which tells the issues of a template apart
* ``decision``: copy, version, member of a story, derived text, or none of these
* ``story_merge``: joins the stories of texts that resemble each other
* ``rebuild``: the index made anew from the stored texts
"""
