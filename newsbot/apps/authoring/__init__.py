"""Creates rule files from URLs, from a live site, or from site lists of other projects.

Files in reading order:

* ``writing``: writes rule files and never overwrites existing ones; the sites that newsbot brings along
* ``learn``: ``scrapy rules learn``
* ``new``: ``scrapy rules new``; proposes selectors from a few pages of a site
* ``samples``: saves the first pages of a crawl, for ``new``
* ``cases``: saved pages with their expected fields, for ``scrapy rules test``
* ``importing``: ``scrapy rules import``
* ``hints``: warns about values of rules that are probably mistakes
* ``import_ftr``: converts site files of ftr-site-config to rules
* ``command``: ``scrapy rules check|show|families``
* ``article``: extracts the article of one page
* ``project``: ``newsbot init``
"""
