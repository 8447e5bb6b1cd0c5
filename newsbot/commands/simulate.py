"""``scrapy simulate``: compares ways to watch sites, without requests to any site."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
