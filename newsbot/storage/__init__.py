"""Stores pages, articles, stories, sources and sites permanently.

:class:`newsbot.storage.base.Storage` has one repository for each kind of data.
:func:`newsbot.backends.open_storage` opens a backend. Files in reading order:

* ``base``: the class of a storage, the guarantees of every repository, and the deletion of data; the crawl
  database, with one record for every URL ever seen; links that wait until their family is open; feeds,
  sitemaps and sections with their polls; counters of sites, in total and by hour
* ``articles``: articles with their versions, their texts, the sequence of their changes, and their stories;
  decides how a fetched article is stored
* ``notes``: small JSON documents of other parts of newsbot. Several workers may write the same document, for
  example to share what they have learned about a site
* ``sqlite``: the backend in the embedded data file

Another backend is the app ``mongodb``. ``sqlite/migrations/`` has the tables. Apps have repositories of their
own (:meth:`newsbot.storage.base.Storage.repository`).
"""
