"""Walks through the pages in a browser: thirteen tasks, accessibility, and pictures.

Prints the seconds of each task in each language and on each screen, then the number of faults that axe finds
on each page in each language and theme. With ``--pictures``, the pages are written as pictures, in both
themes on both screens.

    python -m benchmarks.walks [--languages en,ru] [--screens desktop,phone] [--pictures FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

from newsbot.apps.team.people import add
from newsbot.apps.web.dashboard.service import MORE_PAGES, PAGES
from newsbot.backends import open_storage
from testbed import walks
from testbed.demoweb.server import DemoServer, this_hour
from testbed.newsroom import HAPPENINGS, furnish, settings_in
from testbed.walks import SCREENS, Walk, serving, walking

NEW_SITE = "gazeta.demo.example"
OWNER = "a token for the walks"
THEMES = ("light", "dark")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser."""
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


def timed(name: str, walk: Walk, work: Callable[[], None]) -> None:
    """Do a task and print how long it took."""
    began = time.perf_counter()
    work()
    screen = "phone" if walk.phone else "desktop"
    print(f"{name:<22}{walk.language:<4}{screen:<9}{time.perf_counter() - began:6.1f} s", flush=True)


def evening(browser: Browser, folder: Path, language: str, screen: str) -> None:
    """Do the tasks of the first evening in a new project."""
    with DemoServer(folder / "web", articles=120, now=this_hour()) as web:
        (folder / "rules").mkdir(parents=True)
        shutil.copy(web.rules / "_defaults.yaml", folder / "rules")
        os.environ.update(web.environment, NEWSBOT_RETRY_SCALE="0.05")
        with serving(settings_in(folder)) as (home, link), walking(browser, home, language, screen) as walk:
            timed("first evening", walk, partial(walks.first_evening, walk, link))
            timed("bring subscriptions", walk, partial(walks.bring_subscriptions, walk, folder))
            timed("add a site", walk, partial(walks.add_site, walk, NEW_SITE))
        for name in web.environment:
            os.environ.pop(name, None)


def morning(walk: Walk, member: str, folder: Path) -> None:
    """Do the tasks of a morning with news."""
    walk.log_in(OWNER)
    for task in walks.MORNING:
        timed(task.__name__.replace("_", " "), walk, partial(task, walk))
    timed("compare attention", walk, partial(walks.compare_attention, walk, folder))
    timed("take along", walk, partial(walks.take_along, walk, folder))
    timed("be in a team", walk, partial(walks.be_in_a_team, walk, member))


def addresses(browser: Browser, home: str) -> dict[str, str]:
    """Return all kinds of pages, by name."""
    page = browser.new_context(base_url=home).new_page()
    page.goto("/")
    page.wait_for_selector("li.lead")
    event = page.locator("li.lead a.count").get_attribute("href") or ""
    found = {name.lower(): path for path, name, _ in (*PAGES, *MORE_PAGES)}
    found |= {"event": event, "log in": "/login", "add a site": "/sources/new", "not found": "/nowhere"}
    for language in ("en", "ar", "zh", "he"):
        page.goto(f"/articles?language={language}&q={quote(_word(language))}")
        found[f"article {language}"] = page.locator(".hits .headline a").first.get_attribute("href") or ""
    page.goto(found["article en"])
    story = page.locator("aside a[href^='/stories/']").first.get_attribute("href") or ""
    found |= {"story": story, "found": "/articles?q=flood", "found zh": f"/articles?q={quote('洪水')}"}
    found |= {"not one found": "/articles?q=neverwritten", "filters": "/articles?q=flood&language=en"}
    found |= {"attention": "/attention?q=flood&q=strike", "site": "/sources/valley-post.example"}
    failing = "/sources/harbour-herald.example"
    found |= {
        "failing site": failing,
        "why one": f"/why?url={quote('https://hill-echo.example/next/1', safe='')}",
    }
    page.context.close()
    return found


def _word(language: str) -> str:
    happening = next(one for one in HAPPENINGS if one.language == language)
    return happening.headline.split()[0] if language != "zh" else "洪水"


def check(browser: Browser, home: str, languages: list[str], pictures: Path | None) -> int:
    """Run axe on each page in each language and theme, and take pictures. Return the number of faults."""
    total, pages = 0, addresses(browser, home)
    for language in languages:
        for theme in THEMES:
            for screen in SCREENS:
                with walking(browser, home, language, screen) as walk:
                    walk.log_in(OWNER)
                    walk.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                    for name, path in pages.items():
                        walk.page.goto(path)
                        found = Axe().run(walk.page).response["violations"]
                        for one in found:
                            place = f"{name} {language} {theme} {screen}"
                            print(f"{place}: {one['id']}: {one['nodes'][0]['html'][:200]}")
                        total += len(found)
                        if pictures is not None:
                            file = pictures / f"{name.replace(' ', '-')}-{screen}-{theme}-{language}.png"
                            walk.page.screenshot(path=file, full_page=True)
                    walk.faults = [one for one in walk.faults if "/nowhere" not in one]
                print(
                    f"axe: {len(pages)} pages, {language}, {theme}, {screen}: {total} faults so far",
                    flush=True,
                )
    return total


def main() -> None:
    """Walk, check, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--languages", default="en,ru")
    parser.add_argument("--screens", default=",".join(SCREENS))
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--only", choices=("evening", "morning", "axe"))
    options = parser.parse_args()
    languages, screens = options.languages.split(","), options.screens.split(",")
    with tempfile.TemporaryDirectory(prefix="walks-") as place, chromium() as browser:
        folder = Path(place)
        if options.only in (None, "evening"):
            for language in languages:
                for screen in screens:
                    evening(browser, folder / f"{language}-{screen}", language, screen)
        settings = furnish(folder / "morning", days=10, daily=60)
        with closing(open_storage(settings)) as storage:
            member = add(storage.notes, "mira", "read", time.time())
        with serving(settings | {"NEWSBOT_WEB_TOKEN": OWNER}) as (home, _):
            if options.only in (None, "morning"):
                for language in languages:
                    for screen in screens:
                        with walking(browser, home, language, screen) as walk:
                            morning(walk, member, folder)
            if options.only in (None, "axe"):
                if options.pictures is not None:
                    options.pictures.mkdir(parents=True, exist_ok=True)
                if check(browser, home, languages, options.pictures):
                    sys.exit(1)


if __name__ == "__main__":
    main()
