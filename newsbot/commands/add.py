"""``scrapy add``: queues URLs that are fetched next, also while a crawl is running."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
