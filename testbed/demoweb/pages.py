"""HTML pages of the demo's articles and lists, with the structured data (or none) of each host."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from testbed.demoweb.hosts import Host
from testbed.demoweb.noise import PER_ARTICLE, noise_links
from testbed.demoweb.plan import Paper

NOISE_ON_ARTICLES = 8
_YEAR_9999 = "9999-12-31T23:59:59+00:00"
_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
}
_MENU = {"en": ("Home", "More news", "Follow us"), "ru": ("Главная", "Ещё новости", "Подписывайтесь")}


@dataclass(frozen=True, slots=True)
class Teaser:
    """One link of a list, with its text and summary."""

    href: str
    title: str
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The parts that are common to all pages of a host."""

    host: Host
    head: str = ""
    """Additional elements of ``<head>``."""
    menu: Sequence[Teaser] = ()

    def page(self, title: str, body: str, head: str = "") -> str:
        """Return a whole document."""
        host = self.host
        menu = "".join(
            f'<li><a href="{escape(item.href)}">{escape(item.title)}</a></li>' for item in self.menu
        )
        foot = "".join(f"<li>{link}</li>" for link in noise_links(host, "foot", 6))
        return (
            f'<!DOCTYPE html>\n<html lang="{host.languages[0]}"><head><meta charset="{host.charset}">'
            f"<title>{escape(title)} — {escape(host.title)}</title>{self.head}{head}"
            '<link rel="stylesheet" href="/style.css"></head>\n'
            f'<body><header><a class="logo" href="/">{escape(host.title)}</a>'
            f"<nav><ul>{menu}</ul></nav></header>\n<main>{body}</main>\n"
            f"<footer><ul>{foot}</ul><p>© {escape(host.title)}</p></footer></body></html>\n"
        )


def list_page(
    frame: Frame, path: str, title: str, teasers: Sequence[Teaser], more: Sequence[Teaser] = ()
) -> str:
    """Return a front, section or archive page: each teaser is surrounded by noise links."""
    noise = noise_links(frame.host, path, PER_ARTICLE * len(teasers))
    rows = []
    for teaser in teasers:
        around = [next(noise) for _ in range(PER_ARTICLE)]
        rows.append(
            f'<li class="item"><span class="meta">{" ".join(around[:4])}</span>'
            f'<h2><a href="{escape(teaser.href)}">{escape(teaser.title)}</a></h2>'
            f"<p>{escape(teaser.summary)}</p>"
            f'<span class="tools">{" · ".join(around[4:])}</span></li>\n'
        )
    links = " ".join(f'<a href="{escape(item.href)}">{escape(item.title)}</a>' for item in more)
    return frame.page(title, f'<h1>{escape(title)}</h1><ul>{"".join(rows)}</ul><p class="pages">{links}</p>')


def article_page(frame: Frame, paper: Paper, related: Sequence[Teaser]) -> str:
    """Return the page of an article in the markup of its host."""
    head, body = _PRINTERS[paper.host.markup](paper)
    amp = next((path for path in paper.copies if path.startswith("/amp/")), None)
    head += f'<link rel="canonical" href="{escape(paper.url)}">' if paper.host.canonical else ""
    head += f'<link rel="amphtml" href="{escape(paper.host.base + amp)}">' if amp else ""
    links = "".join(f'<li><a href="{escape(item.href)}">{escape(item.title)}</a></li>' for item in related)
    words = _MENU[paper.story.language]
    noise = " ".join(noise_links(paper.host, paper.path, NOISE_ON_ARTICLES))
    aside = f"<aside><h3>{words[1]}</h3><ul>{links}</ul><p>{words[2]}: {noise}</p></aside>"
    return frame.page(paper.story.title, body + aside, head)


def bare_page(paper: Paper) -> str:
    """Return the AMP or print version of an article, which names the canonical page."""
    title = escape(paper.story.title)
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="{paper.host.charset}">'
        f'<title>{title}</title><link rel="canonical" href="{escape(paper.url)}"></head>'
        f"<body><h1>{title}</h1>"
        f"<p>{escape(paper.story.author)}, {_day(paper)}</p>{_paragraphs(paper)}</body></html>\n"
    )


def published_text(paper: Paper) -> str:
    """Return the publication time in ISO 8601 in the host's zone, or a wrong time if that is the fault."""
    return _YEAR_9999 if paper.fault == "year-9999" else paper.published.isoformat(timespec="seconds")


def _paragraphs(paper: Paper) -> str:
    return "\n".join(f"<p>{escape(text)}</p>" for text in paper.story.paragraphs)


def _day(paper: Paper) -> str:
    at: datetime = paper.published
    month = _MONTHS[paper.story.language].split()[at.month - 1]
    return f"{at.day} {month} {at.year}, {at:%H:%M}"


def _picture(paper: Paper) -> str:
    return f"{paper.host.base}/photo/{paper.number}.jpg"


def _json_ld(paper: Paper) -> tuple[str, str]:
    story = paper.story
    data = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": story.title,
        "description": story.summary,
        "datePublished": published_text(paper),
        "author": [{"@type": "Person", "name": story.author}],
        "image": [_picture(paper)],
        "articleSection": story.topic.label,
        "inLanguage": story.language,
        "mainEntityOfPage": paper.url,
        "publisher": {"@type": "Organization", "name": paper.host.title},
    }
    script = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    body = (
        f'<div class="b-article"><h1 class="b-article__title">{escape(story.title)}</h1>'
        f'<div class="b-article__meta">{_day(paper)} · {escape(story.author)}</div>'
        f'<figure><img src="{_picture(paper)}" alt=""><figcaption>{escape(story.town)}</figcaption></figure>'
        f'<div class="b-article__text">{_paragraphs(paper)}</div></div>'
    )
    return f'<script type="application/ld+json">{script}</script>', body


def _open_graph(paper: Paper) -> tuple[str, str]:
    story = paper.story
    properties = {
        "og:type": "article",
        "og:title": story.title,
        "og:description": story.summary,
        "og:url": paper.url,
        "og:image": _picture(paper),
        "og:site_name": paper.host.title,
        "article:published_time": published_text(paper),
        "article:section": story.topic.label,
        "article:tag": story.town,
    }
    head = "".join(
        f'<meta property="{name}" content="{escape(value)}">' for name, value in properties.items()
    )
    head += f'<meta name="author" content="{escape(story.author)}">'
    body = (
        f'<article class="story"><h1>{escape(story.title)}</h1>'
        f'<p class="standfirst">{escape(story.author)}</p>'
        f'<time datetime="{published_text(paper)}">{_day(paper)}</time>{_paragraphs(paper)}</article>'
    )
    return head, body


def _microdata(paper: Paper) -> tuple[str, str]:
    story = paper.story
    body = (
        '<div itemscope itemtype="http://schema.org/NewsArticle">'
        f'<h1 itemprop="headline">{escape(story.title)}</h1>'
        f'<meta itemprop="datePublished" content="{published_text(paper)}">'
        f'<span class="date">{_day(paper)}</span>'
        f'<span itemprop="author" itemscope itemtype="http://schema.org/Person"><span itemprop="name">'
        f'{escape(story.author)}</span></span><img itemprop="image" src="{_picture(paper)}" alt="">'
        f'<div itemprop="articleBody">{_paragraphs(paper)}</div>'
        f'<a class="print" href="/print/{paper.number}.html">Версия для печати</a></div>'
    )
    return "", body


def _visible(paper: Paper) -> tuple[str, str]:
    story = paper.story
    by = "By" if story.language == "en" else "Автор:"
    body = (
        f'<h1>{escape(story.title)}</h1><p class="byline">{by} <a rel="author" href="/author/staff">'
        f"{escape(story.author)}</a> · {_day(paper)}</p>"
        f'<img src="{_picture(paper)}" alt="">{_paragraphs(paper)}'
    )
    return "", body


_PRINTERS = {
    "json-ld": _json_ld,
    "open-graph": _open_graph,
    "microdata": _microdata,
    "visible": _visible,
}
