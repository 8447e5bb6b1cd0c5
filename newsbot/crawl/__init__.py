"""One crawl: from the lease of a URL to its acknowledgement.

Files in reading order:

* ``context``: backends, rules, clock and counters, which every part may use; the knowledge of each site,
  which is shared with other workers
* ``backend_calls``: calls slow servers in threads, so that the event loop is free; guards the backends while
  a server or a file is unavailable; calls the storage once for several pages
* ``scope``: reads and checks ``-a name=value``; decides which sites, hosts and dates belong to the crawl;
  skips pages and sites that people have removed
* ``address_guard``: refuses hosts with private addresses
* ``failures``: maps exceptions to tokens, the short names of reasons; detects that this machine has no
  network
* ``visit``: one visit, and the links that it found; passes to an archive what was fetched
* ``politeness``: delays and turns of hosts; writes the pauses that :mod:`newsbot.middlewares.politeness`
  decides; limits the requests to hosts that do not answer; describes what an idle crawl waits for
* ``entries``: frontier entries and page records of links
* ``links``: decides which links are followed, and queues them
* ``sources``: the sources that a crawl begins with; the records of feeds, sitemaps and sections, and the
  WebSub hubs that they name; the policies that decide when pages are fetched again
* ``completion``: completes visits, and keeps the visits that wait for completion
* ``recovery``: extends leases, and resumes them after an outage; loads pages from the storage into the
  frontier when they are due
* ``assembly``: builds all parts; warns about backends that do not fit together
* ``http_client``: verifies TLS certificates unless a rule says otherwise; reads odd heads of responses;
  checks the turn of each request when it is sent
* ``components``: the components of newsbot as Scrapy's settings, and the base of the spiders that use them;
  the checks before ``scrapy crawl`` starts
* ``credentials``: the secrets that the rule of a site gives to its requests
* ``memory``: returns free memory to the system
* ``scheduler``: Scrapy's scheduler on the frontier, for the news crawl
"""

import sys
from importlib import import_module
from inspect import Signature, signature
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """Makes this package callable, so that ``newsbot.crawl(sites)`` always calls :func:`newsbot.api.crawl`.

    If any module of this package is imported, Python sets the attribute ``crawl`` of ``newsbot`` to this
    package. The package then hides the function of the same name.
    """

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return import_module("newsbot.api").crawl(*arguments, **keywords)

    @property
    def __signature__(self) -> Signature:
        """The arguments, for ``help()`` and editors."""
        return signature(import_module("newsbot.api").crawl)


sys.modules[__name__].__class__ = _CallablePackage
