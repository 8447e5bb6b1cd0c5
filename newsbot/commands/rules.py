"""``scrapy rules``: checks, shows, creates, tests, imports and exports the rules of sites."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
