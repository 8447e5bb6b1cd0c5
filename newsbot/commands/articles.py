"""``scrapy articles``: finds, shows, exports and imports articles."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
