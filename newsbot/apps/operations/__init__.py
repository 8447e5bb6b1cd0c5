"""Shows and changes what a crawl knows, and runs its workers. Other apps use some of its functions.

An action is a function that reads the options, does the work and prints the result. ``ACTIONS`` at the end of
a module declares the command and its options.

* ``add``: queues URLs, also of families, which it shows, opens and resets
* ``remove``: removes URLs and domains (``scrapy remove``) and old data (``scrapy prune``)
* ``articles``: finds and shows articles
* ``explain``: explains one URL (``scrapy why``)
* ``verdict``: decides in one place whether the whole crawl works
* ``sources``: reports on sites and their sources
* ``notifier_trust``: measures how reliable each sender of push notices is, and limits the fetches that
  notices cause
* ``completion``: prints a script that completes commands and options in a shell
* ``workers``: runs several crawl workers, and restarts those that fail
"""
