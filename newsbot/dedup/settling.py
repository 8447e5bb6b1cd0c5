"""One story for texts that several workers meet at the same instant.

A text is put into the index before it is stored. A worker that meets a like text in between finds it in
the index, but not in the storage, and takes the story that its article (the *witness*) would begin. That
article may itself have joined another story, or be dropped because its text is kept under another address.
Or the witness is stored, in a story that it took in the same way and leaves a moment later.

So each worker, after it has stored its article, looks again, and whoever sees two stories where one was
meant puts it right: an article follows its witness, and one that joined a story takes along those who
trusted it. Each writes first and looks then; of two workers at least one sees what the other has written.
"""

from __future__ import annotations

from newsbot.dedup.decision import story_id
from newsbot.items import Article
from newsbot.storage.base import ArticleFilter, Storage

_ROUNDS = 20  # each follows a move that another worker made meanwhile


def settle(storage: Storage, canonical_url: str, decided: str, witness: str | None) -> None:
    """Bring the article that was just stored under ``canonical_url`` and those that trusted it together.

    ``decided`` and ``witness`` are the story and :attr:`newsbot.dedup.decision.Decision.witness` of its
    placing. Also to be called for an article that was not stored because another address has its text.
    Doing it again does no harm. Raises :class:`newsbot.errors.DataError` kinds.
    """
    own = story_id(canonical_url)
    left = {own} - {decided}  # stories that nobody should be in
    trusted = {decided}
    for _ in range(_ROUNDS):
        kept = storage.article(canonical_url)
        if kept is None or kept.story is None:
            return
        if story_id(kept.canonical_url) != own:
            _forget_itself(storage, kept, own)
        story = kept.story
        if story in left:  # it has the text of this one, and trusted it
            story = decided
        elif witness is not None and story in trusted:
            told = storage.article(witness)
            story = told.story if told is not None and told.story is not None else story
        if story != kept.story:
            left.add(kept.story)
            trusted.add(story)
            storage.assign_story(kept.canonical_url, story, kept.duplicate_of)
        left.discard(story)
        for old in left:
            _move(storage, old, story)
        if story == kept.story:
            return


def _move(storage: Storage, old: str, story: str) -> None:
    """Bring all articles of a story into another one."""
    for member in list(storage.iter_articles(ArticleFilter(story=old))):
        storage.assign_story(member.canonical_url, story, member.duplicate_of)


def _forget_itself(storage: Storage, kept: Article, alias: str) -> None:
    """Let an article no longer be the duplicate of an address that turned out to be one of its own."""
    if kept.story is not None and kept.duplicate_of is not None and story_id(kept.duplicate_of) == alias:
        storage.assign_story(kept.canonical_url, kept.story, None)
