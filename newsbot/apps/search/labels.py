"""Labels of articles that other apps find, such as categories and places. Queries name them by fields.

An app registers the fields (:attr:`newsbot.config.apps.App.labels`). The labels of an article are words of
the index. If the version of a field changes, the index is rebuilt, and searches use the old one until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol

from newsbot.apps.search.query import Named
from newsbot.config.apps import active_apps, known_apps, load
from newsbot.config.settings import SettingsLike
from newsbot.items import Article

MAX_LABELS = 200
"""Maximum number of labels of one field for one article. The rest is left out."""


class LabelField(Protocol):
    """Finds the labels of one field. The methods of one object are called in one thread."""

    def version(self) -> str:
        """Return a text that changes whenever articles can get other labels; empty if none has a label."""

    def labels(self, article: Article, stems: Sequence[str]) -> Iterable[str]:
        """Return the labels of an article, the most important first.

        ``stems`` are the stems of its title and text (:func:`newsbot.pages.text.words.stems`).
        """

    def named(self, value: str) -> Sequence[str]:
        """Return the labels that a value in a query names. An article with any of them matches."""

    def title(self, label: str) -> str:
        """Return a label in the form that people read."""


FORMS = ("article", "live", "gallery", "post")


class FormField:
    """The field ``form``: the form of an article (:attr:`newsbot.items.Article.form`)."""

    def __init__(self, settings: SettingsLike) -> None:
        """All settings have the same forms."""

    def version(self) -> str:
        """See :class:`LabelField`."""
        return "1"

    def labels(self, article: Article, stems: Sequence[str]) -> Iterable[str]:  # noqa: ARG002  (an interface)
        """See :class:`LabelField`."""
        return (article.form,)

    def named(self, value: str) -> Sequence[str]:
        """Return the forms that a value names. ``any`` names all of them."""
        return FORMS if value.lower() == "any" else [one for one in FORMS if one == value.lower()]

    def title(self, label: str) -> str:
        """See :class:`LabelField`."""
        return label


class Labels:
    """The fields of the active apps."""

    def __init__(self, fields: Mapping[str, LabelField] | None = None) -> None:
        self.fields: Mapping[str, LabelField] = fields or {}

    @property
    def named(self) -> Named:
        """The functions that return the labels of a value, by field."""
        return {name: field.named for name, field in self.fields.items()}

    def version(self) -> str:
        """Return the version of all fields; empty if no article has a label."""
        versions = {name: field.version() for name, field in self.fields.items()}
        return "\n".join(f"{name} {version}" for name, version in versions.items() if version)

    def of(self, article: Article, stems: Sequence[str]) -> list[tuple[str, str]]:
        """Return the labels of an article as pairs of field and label."""
        return [
            (name, label)
            for name, field in self.fields.items()
            for label in islice(field.labels(article, stems), MAX_LABELS)
        ]


NO_LABELS = Labels()


def open_labels(settings: SettingsLike) -> Labels:
    """Return the fields that the active apps register."""
    found: dict[str, LabelField] = {}
    for app in active_apps(settings.get("NEWSBOT_APPS")):
        found |= {name: load(place)(settings) for name, place in app.labels.items()}
    return Labels(found)


def any_label() -> Named:
    """Return functions that accept each value, by field. A label can be added after a query is saved."""
    return {name: lambda value: (value,) for app in known_apps().values() for name in app.labels}
