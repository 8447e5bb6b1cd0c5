"""Stores pages, articles, stories, sources and sites permanently.

:class:`newsbot.storage.base.Storage` has one repository for each kind of data.
:func:`newsbot.backends.open_storage` opens a backend. Files in reading order:

* ``base``: the class of a storage, the guarantees of every repository, and the deletion of data
* ``pages``: the crawl database: one record for every URL ever seen, with its history and its referrers
* ``articles``: articles with their versions, their texts and the sequence of their changes; decides how a
  fetched article is stored
* ``stories``: groups of articles with nearly the same text
* ``sources``: feeds, sitemaps and sections with their polls; counters of sites, in total and by hour
* ``notes``: small JSON documents of other parts of newsbot. Several workers may write the same document, for
  example to share what they have learned about a site
* ``waiting``: links that wait until their family is open
* ``sqlite``: the backend in the embedded data file

Another backend is the app ``mongodb``. Both have the files ``connection`` (transactions, errors), ``rows`` or
``documents`` (the stored form of an article), and one file for each interface above. ``sqlite/migrations/``
has the tables. Apps have repositories of their own (:meth:`newsbot.storage.base.Storage.repository`).
"""
