"""What a site owner installs so that newsbot is notified of changes.

    from newsbot.sensor.asgi import Sensor      # or newsbot.sensor.wsgi
    application = Sensor(application, url="https://newsbot.example/push/notice", secret="…", site="https://my.site")

A sensor looks at what the site answers anyway, never delays or changes it, and sends a short signed notice
when the main text of a page is new or has changed. It needs nothing but Python. Files in reading order:

* ``wsgi``, ``asgi``: the sensor as middleware
* ``watching``: what both share
* ``fingerprints``: the hash of a page's text
* ``notices``: sends notices in the background
* ``accesslog``: changes as an access log shows them, for ``scrapy sensor``
"""
