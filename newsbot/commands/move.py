"""``scrapy move``: copies a crawl from the data file to servers, or back."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
