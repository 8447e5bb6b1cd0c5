"""One crawl: from the lease of a URL to its acknowledgement.

Files in reading order:

* ``arguments``: what ``-a name=value`` may say
* ``context``: backends, rules, clock and counters, which every part may use
* ``availability``: the guard of the backends while a server or the file is away
* ``archive``: pages as they came, as WARC files
* ``consistency``: warnings about backends that do not fit together
* ``scope``: which sites, hosts and dates the crawl was asked for
* ``politeness``: delays and rests of hosts
* ``address_guard``: which hosts may be asked at all
* ``removals``: what people have taken out
* ``failures``: tokens for what went wrong
* ``visit``: one visit, and the links that it found
* ``entries``: frontier entries and page records of links
* ``seeds``: what a crawl begins with
* ``links``: which links are followed, and how they are queued
* ``hubs``: WebSub hubs that pages name
* ``site_knowledge``: what is known of each site and shared with other workers
* ``source_state``: the records of feeds, sitemaps and sections
* ``recrawl_policy``: when pages are wanted again
* ``completion``: the end of a visit, and the visits that wait for it
* ``refill``: a frontier that keeps only what is due soon gets the rest
* ``recovery``: what is done first after an outage
* ``assembly``: builds all parts
* ``memory``: gives free memory back to the system
* ``scheduler``: Scrapy's scheduler on the frontier, for the news crawl
* ``auxiliary_scheduler``: the scheduler of the spiders that search or check
"""
