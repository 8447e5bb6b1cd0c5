"""Availability and structure of sites, from what ``scrapy crawl monitor`` kept: reports as plain data.

:func:`newsbot.monitoring.report.site_report` reads all pages of a site; what it found last is kept, so that
:func:`newsbot.monitoring.keeping.kept_report` answers at once.
"""
