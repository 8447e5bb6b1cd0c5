"""The web of ``scrapy demo``: six invented news sites on loopback, and a check of the crawl's result.

Files in reading order:

* ``server``: makes stories from the words in ``en.yaml`` and ``ru.yaml``, decides which site of
  ``sites.yaml`` publishes which story, and makes the manifest: the expected result of a crawl; the HTTP
  server and forward proxy, with the pages of each site, and faults of some pages
* ``check``: the action of ``scrapy demo``: crawls, and compares the result with the manifest
"""

from newsbot.config.apps import App

APP = App(
    name="demo",
    package="newsbot.apps.demo",
    commands={
        "demo": (
            "Begin",
            "Crawl demo sites on this machine and check the result",
            "newsbot.apps.demo.check:ACTIONS",
        ),
    },
)
