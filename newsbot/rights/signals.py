"""The signals that an article carries in ``rights``, each with the place that gave it."""

from __future__ import annotations

from collections.abc import Mapping

NOINDEX = "noindex"
NOARCHIVE = "noarchive"
TDM_RESERVATION = "tdm-reservation"
TDM_POLICY = "tdm-policy"
"""Its value is the address of the policy: where a licence can be had."""
AI_AGENTS = "ai-agents"
"""robots.txt forbids the page to crawlers that collect for AI."""
AI_COMMENT = "ai-comment"
"""A comment in robots.txt speaks of AI training or of text and data mining."""
AI_TRAIN = "ai-train"
AI_INPUT = "ai-input"
DIRECTIVES = ("noai", "noimageai", "noml")

OPT_OUTS = frozenset((*DIRECTIVES, TDM_RESERVATION, AI_AGENTS, AI_COMMENT, AI_TRAIN, AI_INPUT))
"""Signals by which an owner reserves a page against AI."""


def opted_out(rights: Mapping[str, str]) -> bool:
    """Return True if any signal reserves the page against use by AI."""
    return not OPT_OUTS.isdisjoint(rights)


def usage_signals(value: str) -> tuple[str, ...]:
    """Return what a Content-Signal or Content-Usage value refuses: ``ai-train``, ``ai-input``.

    ``search=yes, ai-train=no`` (https://contentsignals.org) and ``train-ai=n``
    (draft-ietf-aipref-attach) say the same.
    """
    refused = []
    for part in value.replace(";", ",").split(","):
        words = part.split()  # Content-Usage may name a path first
        name, _, answer = (words[-1] if words else "").lower().partition("=")
        name = {"train-ai": AI_TRAIN, "train-genai": AI_TRAIN}.get(name, name)
        if name in (AI_TRAIN, AI_INPUT) and answer in ("no", "n", "?0"):
            refused.append(name)
    return tuple(dict.fromkeys(refused))
