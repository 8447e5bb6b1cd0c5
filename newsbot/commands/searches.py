"""``scrapy searches``: shows what ``scrapy crawl search`` found."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
