"""Exports articles as files (JSON lines, CSV, Parquet, WARC, WACZ) or as a feed, and sites as OPML.

Files in reading order:

* ``formats``: the file formats and their writers
* ``parquet``: the writer for Apache Parquet
* ``wacz``: the writer for web archives with the archived pages of articles
* ``feed``: articles as an Atom or RSS feed, and the feeds of all sites as OPML, from templates
* ``command``: ``scrapy articles export`` and ``feed``
* ``increment``: exports that continue where the last export of the same name ended
"""
