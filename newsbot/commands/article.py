"""``scrapy article``: extracts the article of one page."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
