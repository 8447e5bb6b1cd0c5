"""Middleware that a site owner installs to notify a newsbot server of new and changed pages.

    from newsbot.apps.push.sensor.asgi import Sensor      # or newsbot.apps.push.sensor.wsgi
    application = Sensor(application, url="https://newsbot.example/push/notice", secret="…",
                         site="https://my.site")

A sensor reads the responses that the site sends to its visitors. It never delays or changes these responses.
If the main text of a page is new or has changed, the sensor sends a short signed notice. Besides newsbot,
only Python's standard library is needed. Files in reading order:

* ``wsgi``, ``asgi``: the sensor as middleware
* ``watching``: the code that both kinds of middleware share: chooses responses by the hash of a page's text,
  and sends notices in the background
* ``accesslog``: ``scrapy sensor``: finds changes in an access log
"""
