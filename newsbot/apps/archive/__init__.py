"""Writes WARC files that survive crashes, and reads WARC files of other programs (WARC 1.1, ISO 28500:2017).

Files in reading order:

* ``writer``: builds records as bytes, and writes them into a folder of files
* ``reader``: reads files of other programs, with limits
* ``cdxj``: the index of archived pages, and the search for the page of a URL
* ``remote``: reads files over HTTP, and the file lists of CC-NEWS
* ``uploads``: copies finished files to an object store
* ``recording``: the archive of a crawl: writes its exchanges in a thread, and deletes old files
* ``middleware``: passes requests and responses to the archive
* ``media``: pictures, audio and video of articles
* ``command``: ``scrapy articles show``, also with the archived page
* ``pages``: the archived page in the dashboard
* ``importing``: imports articles from WARC files
* ``cdx``: reads the indexes of web archives, and their pages
* ``backfill``: ``scrapy backfill``: the older articles of a site
"""
