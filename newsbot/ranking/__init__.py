"""Judges links: whether a link leads to an article, and how soon it should be fetched.

Files in reading order:

* ``judging``: the judgement of a link
* ``families``: families of addresses: whether their members are fetched, with the reasons for people
* ``url_learning``: learns during a crawl what the article URLs of a site look like, and which query keys
  contain a session id
"""
