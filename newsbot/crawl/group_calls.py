"""Calls the storage once for several pages that need the same kind of data at about the same time.

Each command to a server costs CPU time of the worker and of the server, and the commit takes most of the time
of a transaction. Pages that arrive within 200 ms are therefore processed together: their texts are looked up
with one query, they are stored in one transaction, and their page records are written together
(:mod:`newsbot.crawl.completion`). A page waits only if other pages are being processed.

:class:`ReadAhead` reads the records of all leased pages with one query, when the first of them is needed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any, Generic, TypeVar, cast

from newsbot.crawl.availability import Guarded, Outage
from newsbot.errors import DataError, RecordBusy, RecordRefused
from newsbot.items import Article, Bounded
from newsbot.storage.articles import SiteText, Stored
from newsbot.storage.base import Storage

LARGEST = 32
"""Maximum number of items in a group."""
HEAVIEST = 2_000_000
"""Maximum number of characters of text in a group of several articles.

A group of the longest possible texts would exceed the time limit of a call to the server.
"""
LONGEST = 0.2
"""Maximum number of seconds that an item waits for further items.

Reading a page takes some 20 ms, so about ten pages share a group.
"""
STEP = 0.01
"""Seconds between two checks whether further items are about to come."""
TURN = 0.001
"""Seconds within which the items of one group arrive at the next step."""
_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


class Together(Generic[_Item, _Answer]):
    """Processes items in groups. ``work`` returns an answer for each item of a group.

    While a group is being answered, the items that arrive form the next group. The first item of a group
    waits for other items only while ``more`` returns True, and at most :data:`LONGEST` seconds. ``weight``
    returns the number of characters of an item. The items of a group have at most :data:`HEAVIEST` characters
    together.
    """

    def __init__(
        self,
        work: Callable[[list[_Item]], Awaitable[Sequence[_Answer]]],
        more: Callable[[], bool] = lambda: False,
        weight: Callable[[_Item], int] = lambda _: 0,
    ) -> None:
        self._work, self._more, self._weight = work, more, weight
        self._waiting: list[tuple[_Item, asyncio.Future[_Answer]]] = []
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, item: _Item) -> _Answer:
        """Return the answer for an item. If the server fails, each item of the group raises the error."""
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        # One task answers all groups one after the other. Items that come during a call form the next group.
        if self._task is None:
            self._task = asyncio.create_task(self._answer_all())
        return await answer

    async def _answer_all(self) -> None:
        group: list[tuple[_Item, asyncio.Future[_Answer]]] = []
        try:
            while self._waiting:
                await self._gather()
                weights = accumulate(self._weight(item) for item, _ in self._waiting[:LARGEST])
                # ``weights`` are running totals. The number of totals up to HEAVIEST is the number of items
                # that fit into the group. The first item is always taken.
                number = max(1, sum(weight <= HEAVIEST for weight in weights))
                group, self._waiting = self._waiting[:number], self._waiting[number:]
                await self._answer(group)
        except BaseException as error:  # a fault of this class or of its functions, or the end of the program
            left, self._waiting = [*group, *self._waiting], []
            for _, answer in left:
                if not answer.done() and isinstance(error, Exception):
                    answer.set_exception(error)
                answer.cancel()  # does nothing if it is done
            if not isinstance(error, Exception):
                raise
        finally:
            self._task = None

    async def _gather(self) -> None:
        until = time.monotonic() + LONGEST
        await asyncio.sleep(TURN)  # the articles of the previous group arrive one after the other
        while (  # noqa: ASYNC110 - no event reports that no more items come
            self._more() and len(self._waiting) < LARGEST and time.monotonic() < until
        ):
            await asyncio.sleep(STEP)

    async def _answer(self, group: list[tuple[_Item, asyncio.Future[_Answer]]]) -> None:
        try:
            found = await self._work([item for item, _ in group])
        except Exception as error:  # noqa: BLE001 - each item gets the error
            # One item may have caused an error of these types, so each item is tried alone.
            of_one = isinstance(error, RecordRefused | RecordBusy) or not isinstance(error, DataError)
            if of_one and len(group) > 1:
                for one in group:
                    await self._answer([one])
                return
            for _, answer in group:
                if not answer.done():  # its task may have been cancelled
                    answer.set_exception(error)
        else:
            for (_, answer), result in zip(group, found, strict=True):
                if not answer.done():
                    answer.set_result(result)


class GroupCalls:
    """The calls of one crawl's pipelines to the storage. All raise :class:`newsbot.errors.DataError`."""

    def __init__(
        self, storage: Storage, outage: Outage, timed: Callable[[str], AbstractContextManager[None]]
    ) -> None:
        self._storage, self._timed, run = storage, timed, outage.calls.run
        self._articles = cast("Guarded", storage.articles)
        self.reading = 0
        """Number of pages that are being read or wait to be read. Their articles may come soon."""
        self.deciding = 0
        """Number of articles whose stories are being searched for. They will be stored soon."""
        self.owner = Together[SiteText, str | None](
            lambda group: run(self._owners, group), more=lambda: self.reading > 0
        )
        """Takes a text of a site, and returns the URL of the article that has this text, or None.

        This is the first call for an article, so the article waits here for pages that are being read.
        """
        self.articles = Together[Sequence[str], Mapping[str, Article]](
            lambda group: run(self._get_many, group)
        )
        """Takes URLs, and returns the stored articles by URL."""
        self.stories = Together[Collection[str], Mapping[str, str]](lambda group: run(self._current, group))
        """Takes ids of stories.

        For each story that was joined to another one, returns the id of the current story.
        """
        self._store_new = Together[tuple[Article, Sequence[str]], Stored | None](
            lambda group: self._write("store_new", *map(list, zip(*group, strict=True))),
            more=lambda: self.deciding > 0,
            weight=lambda item: len(item[0].text),
        )

    async def store(self, article: Article, over: str | None = None, peers: Sequence[str] = ()) -> Stored:
        """Store an article; see :meth:`newsbot.storage.articles.Articles.store`.

        An article is stored alone if it may not be new, or if there was a conflict in its group. Other
        articles do not wait for it. If the storage is a server, other pages are processed during the call.
        """
        # if ``over`` is given, the article's URL is already stored
        new = await self._store_new((article, peers)) if over is None else None
        return new or cast("Stored", await self._write("store", article, over, peers))

    async def _write(self, name: str, *given: Any) -> Any:
        with self._timed("store"):  # only the call, not the wait for other articles
            return await self._articles.aside(name, *given)

    def _owners(self, group: list[SiteText]) -> list[str | None]:
        owners = self._storage.texts.owners(group)
        return [owners.get(one) for one in group]

    def _get_many(self, group: list[Sequence[str]]) -> list[Mapping[str, Article]]:
        return [self._storage.articles.get_many(list({url for one in group for url in one}))] * len(group)

    def _current(self, group: list[Collection[str]]) -> list[Mapping[str, str]]:
        return [self._storage.stories.current({story for one in group for story in one})] * len(group)


# --- reading ahead
# A worker holds about 32 leases. If each visit read its own record, each page would need
# one query.
#
# Only the worker that holds the lease of a page writes the results of a visit. But a record that was read can
# be outdated if another page names the same article. The records are therefore used only to avoid queries.
# The storage decides what is stored, because its keys are unique. If another article has been stored under
# the URL, the storage refuses the write (:class:`newsbot.storage.articles.Verdict`), and the caller reads
# again.

MAX_READ = 1000
"""Maximum number of keys whose results are kept."""
_Known = TypeVar("_Known")


class ReadAhead(Generic[_Known]):
    """Keeps results of ``read``, a function that returns what the storage has under a list of keys."""

    def __init__(self, read: Callable[[list[bytes]], Mapping[bytes, _Known]]) -> None:
        self._read = read
        self._expected: dict[bytes, None] = {}
        self._known = Bounded[bytes, _Known | None](MAX_READ)

    def expect(self, key: bytes) -> None:
        """Announce a key. The next :meth:`get` reads all announced keys together."""
        self._known.pop(key, None)
        self._expected[key] = None

    def get(self, key: bytes) -> _Known | None:
        """Return what the storage has under a key; None if it has nothing.

        Raises :class:`newsbot.errors.DataError`.
        """
        if key in self._known:
            return self._known[key]
        keys = list(self._expected) if key in self._expected else [key]
        found = self._read(keys)
        for each in keys:
            self._known[each] = found.get(each)
            self._expected.pop(each, None)
        return found.get(key)  # not from _known, which has dropped keys if there are more than MAX_READ

    def forget(self, key: bytes) -> None:
        """Forget a key, so that the next :meth:`get` reads it anew."""
        self._expected.pop(key, None)
        self._known.pop(key, None)
