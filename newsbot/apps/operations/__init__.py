"""Shows and changes what a crawl knows, and runs its workers. Other apps use some of its functions.

An action is a function that reads the options, does the work and prints the result. The modules in the folder
``commands`` declare the commands and their options.

* ``add``, ``remove``, ``prune``: change data
* ``articles``: finds and shows articles
* ``families``: shows, opens and resets the families of a site's addresses
* ``explain``: explains one URL (``scrapy why``)
* ``verdict``: decides in one place whether the whole crawl works
* ``sources``: reports on sites and their sources
* ``notifier_trust``: measures how reliable each sender of push notices is, and limits the fetches that
  notices cause
* ``workers``: runs several crawl workers, and restarts those that fail
"""
