"""``scrapy monitor``: shows what ``scrapy crawl monitor`` found."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
