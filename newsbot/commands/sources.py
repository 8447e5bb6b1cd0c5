"""``scrapy sources``: shows the state of each site and of its feeds, sitemaps and sections."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
