"""Runs the scripts of pages in a browser (Playwright), if a rule or NEWSBOT_RENDER says so.

* ``app``: what the app adds
* ``middleware``: renders pages, and passes the requests of scripts through all middlewares
"""
