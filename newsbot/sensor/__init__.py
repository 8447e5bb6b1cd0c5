"""What a site owner installs so that newsbot is told of changes.

    from newsbot.sensor.asgi import Sensor      # or newsbot.sensor.wsgi
    application = Sensor(application, url="https://newsbot.example/push/notice", secret="…", site="https://my.site")

A sensor looks at what the site answers anyway, never delays or changes it, and sends a short signed notice
when the main text of a page is new or differs from what it was. It needs nothing but Python.
"""
