"""``scrapy remove``: deletes all data of a URL or a domain, and blocks it."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
