"""Sites made by static generators with their default themes; missing generators are skipped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cms.posts import Post, as_markdown
from testbed.messages import Answer, Request

_TYPES = {
    "html": "text/html; charset=utf-8", "xml": "application/xml", "rss": "application/rss+xml",
    "atom": "application/atom+xml", "css": "text/css", "js": "text/javascript", "txt": "text/plain",
    "svg": "image/svg+xml", "png": "image/png", "json": "application/json",
}  # fmt: skip


@dataclass(slots=True)
class StaticSite:
    """A site that ``generate`` writes into a folder. The files are served from this folder."""

    name: str
    folder: Path
    generate: Callable[[Path, str, Sequence[Post]], Path]
    shows_authors: bool = True
    """False for a theme that does not print authors."""
    output: Path = Path()

    @property
    def host(self) -> str:
        """The host name of the site."""
        return f"{self.name}-news.example"

    def publish(self, posts: Sequence[Post]) -> None:
        """Generate the site again with these posts."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.output = self.generate(self.folder, f"http://{self.host}", posts)

    def __call__(self, request: Request) -> Answer:
        """Serve a file, or the ``index.html`` of a folder."""
        path = request.path.partition("?")[0].lstrip("/")
        file = self.output / path
        if ".." in path:
            return Answer(status=404)
        if file.is_dir():
            if path and not path.endswith("/"):
                return Answer(status=301, headers={"Location": f"/{path}/"})
            file /= "index.html"
        if not file.is_file():
            return Answer(status=404, body=b"<h1>Not found</h1>", headers={"Content-Type": "text/html"})
        kind = _TYPES.get(file.suffix[1:], "application/octet-stream")
        return Answer(body=file.read_bytes(), headers={"Content-Type": kind})


def static_sites(folder: Path) -> list[StaticSite]:
    """Return the sites whose generators are installed."""
    node = Path(os.environ.get("NODE_PATH", ""))
    sites = [
        (_command("pelican"), StaticSite("pelican", folder / "pelican", pelican)),
        (_command("hugo"), StaticSite("hugo", folder / "hugo", hugo)),
        (_command("jekyll"), StaticSite("jekyll", folder / "jekyll", jekyll)),
        (_command("nikola"), StaticSite("nikola", folder / "nikola", nikola)),
        (_command("mkdocs"), StaticSite("mkdocs", folder / "mkdocs", mkdocs)),
        (
            (node / "hexo-theme-landscape").is_dir(),
            StaticSite("hexo", folder / "hexo", hexo, shows_authors=False),
        ),
        ((node / "@docusaurus/core").is_dir(), StaticSite("docusaurus", folder / "docusaurus", docusaurus)),
    ]
    return [site for installed, site in sites if installed]


def installed(name: str) -> bool:
    """Return True if the program of a generator is on this machine."""
    return _command(name) is not None


def hexo_themes() -> list[Path]:
    """Return the folders of the installed themes of Hexo."""
    node = os.environ.get("NODE_PATH")
    return sorted(Path(node).glob("hexo-theme-*")) if node else []


def pelican(folder: Path, url: str, posts: Sequence[Post], *, theme: str = "notmyidea") -> Path:
    """Make a site with Pelican and one of its themes, or a theme from an installed Python package."""
    content = folder / "content"
    for post in posts:
        head = {"Title": post.title, "Date": post.published.isoformat(), "Category": post.category}
        head |= {"Slug": post.slug, "Authors": post.author}
        lines = "".join(f"{name}: {value}\n" for name, value in head.items())
        _write(content / f"{post.slug}.md", f"{lines}\n{as_markdown(post)}")
    _write(
        folder / "pelicanconf.py",
        f"AUTHOR = 'The Editors'\nSITENAME = 'Pelican News'\nSITEURL = {url!r}\nPATH = {str(content)!r}\n"
        "TIMEZONE = 'Europe/Berlin'\nDEFAULT_LANG = 'en'\nDEFAULT_PAGINATION = 10\n"
        "FEED_ALL_ATOM = 'feeds/all.atom.xml'\nCATEGORY_FEED_ATOM = 'feeds/{slug}.atom.xml'\n",
    )
    templates = next((path for path in map(Path, sys.path) if (path / theme / "templates").is_dir()), None)
    used = theme if templates is None else str(templates / theme)
    _run(folder, "pelican", "content", "-o", "output", "-s", "pelicanconf.py", "-t", used)
    return folder / "output"


def hugo(folder: Path, url: str, posts: Sequence[Post]) -> Path:
    """Make a site with Hugo. Its layouts resemble those that ``hugo new theme`` writes."""
    for post in posts:
        head: dict[str, object] = {"title": post.title, "date": post.published.isoformat()}
        head |= {"slug": post.slug, "categories": [post.category], "author": post.author}
        _write(folder / f"content/posts/{post.slug}.md", f"{json.dumps(head)}\n\n{as_markdown(post)}")
    for name, text in _HUGO_LAYOUTS.items():
        _write(folder / "layouts" / name, text)
    _write(
        folder / "config.toml",
        f"baseURL = '{url}/'\nlanguageCode = 'en-gb'\ntitle = 'Hugo News'\n"
        "timeZone = 'Europe/Berlin'\n[services.rss]\nlimit = 50\n"
        "[markup.goldmark.renderer]\nunsafe = true\n",
    )
    _run(folder, "hugo", "--quiet")
    return folder / "public"


_HUGO_LIST = """{{ define "main" }}<h1>{{ .Title }}</h1>{{ range (.Paginate %s).Pages }}
<article><h2><a href="{{ .RelPermalink }}">{{ .Title }}</a></h2>
<time datetime="{{ .Date.Format "2006-01-02T15:04:05Z07:00" }}">{{ .Date.Format "January 2, 2006" }}</time>
{{ .Summary }}</article>{{ end }}{{ template "_internal/pagination.html" . }}{{ end }}"""
_HUGO_LAYOUTS = {
    "_default/baseof.html": """<!DOCTYPE html><html lang="{{ site.LanguageCode }}"><head>
<meta charset="utf-8">
<title>{{ if .IsHome }}{{ site.Title }}{{ else }}{{ .Title }} | {{ site.Title }}{{ end }}</title>
{{ range .AlternativeOutputFormats }}<link rel="{{ .Rel }}" type="{{ .MediaType.Type }}"
href="{{ .Permalink }}">{{ end }}</head><body><header><h1>{{ site.Title }}</h1><nav><ul>
<li><a href="/">Home</a></li><li><a href="/posts/">Posts</a></li>
<li><a href="/categories/">Categories</a></li></ul></nav></header>
<main>{{ block "main" . }}{{ end }}</main>
<footer><p>Copyright {{ now.Year }}. All rights reserved.</p></footer></body></html>""",
    "_default/list.html": _HUGO_LIST % ".Pages",
    "index.html": _HUGO_LIST % "site.RegularPages",
    "_default/single.html": """{{ define "main" }}<h1>{{ .Title }}</h1>
<time datetime="{{ .Date.Format "2006-01-02T15:04:05Z07:00" }}">{{ .Date.Format "January 2, 2006" }}</time>
<p>By <strong>{{ .Params.author }}</strong></p>{{ .Content }}
<div>Categories: <ul>{{ range .Params.categories }}
<li><a href="/categories/{{ . | urlize }}/">{{ . }}</a></li>{{ end }}</ul></div>{{ end }}""",
}


def jekyll(folder: Path, url: str, posts: Sequence[Post]) -> Path:
    """Make a site with Jekyll and its theme ``minima``, as packaged by Debian."""
    for post in posts:
        head = {"layout": "post", "title": post.title, "date": post.published.isoformat(sep=" ")}
        head |= {"categories": post.category, "author": post.author}
        lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in head.items())
        _write(
            folder / f"_posts/{post.published:%Y-%m-%d}-{post.slug}.md",
            f"---\n{lines}---\n{as_markdown(post)}",
        )
    _write(folder / "index.md", "---\nlayout: home\n---\n")
    _write(
        folder / "_config.yml",
        f"title: Jekyll News\nurl: {url}\ntheme: minima\ntimezone: Europe/Berlin\nplugins: [jekyll-feed]\n"
        "future: true\n",
    )
    _run(folder, "jekyll", "build", "--quiet")
    return folder / "_site"


def nikola(folder: Path, url: str, posts: Sequence[Post], *, theme: str = "bootblog4") -> Path:
    """Make a site with Nikola and one of its themes."""
    _run(folder, "nikola", "init", "-q", "site")
    site = folder / "site"
    for post in posts:
        head = {"title": post.title, "slug": post.slug, "date": post.published.isoformat(sep=" ")}
        head |= {"category": post.category, "author": post.author}
        lines = "".join(f".. {name}: {value}\n" for name, value in head.items())
        _write(site / f"posts/{post.slug}.md", f"{lines}\n{as_markdown(post)}")
    conf = (site / "conf.py").read_text(encoding="utf-8")
    own = f"\nSITE_URL = '{url}/'\nBLOG_TITLE = 'Nikola News'\nTIMEZONE = 'Europe/Berlin'\n"
    own += "FUTURE_IS_NOW = True\nPOSTS = (('posts/*.md', 'posts', 'post.tmpl'),)\nPAGES = ()\n"
    own += f"BLOG_AUTHOR = 'The Editors'\nTHEME = {theme!r}\n"
    _write(site / "conf.py", conf + own)
    _run(site, "nikola", "build", "-q")
    return site / "output"


def mkdocs(folder: Path, url: str, posts: Sequence[Post], *, theme: str = "material") -> Path:
    """Make a site with MkDocs, without a feed. Only the theme Material uses the blog plugin."""
    names = {post.author: f"author-{number}" for number, post in enumerate(posts)}
    for post in posts:
        lines = (
            f"title: {json.dumps(post.title)}\ndate: {post.published.isoformat(sep=' ')}\nslug: {post.slug}\n"
        )
        lines += f"categories: [{post.category}]\nauthors: [{names[post.author]}]\n"
        lead, _, rest = as_markdown(post).partition("\n\n")
        text = f"---\n{lines}---\n{lead}\n\n<!-- more -->\n\n{rest}"
        _write(folder / f"docs/posts/{post.slug}.md", text)
    people = {key: {"name": name, "description": "Reporter", "avatar": ""} for name, key in names.items()}
    _write(folder / "docs/.authors.yml", json.dumps({"authors": people}))
    _write(folder / "docs/index.md", "# MkDocs News\n")
    blog = {"blog_dir": ".", "post_url_date_format": "yyyy/MM/dd"}
    settings = {"site_name": "MkDocs News", "site_url": f"{url}/", "theme": {"name": theme}}
    plugins = [{"blog": blog}] if theme == "material" else []
    _write(folder / "mkdocs.yml", json.dumps(settings | {"plugins": plugins}))
    _run(folder, "mkdocs", "build", "-q")
    return folder / "site"


def hexo(folder: Path, url: str, posts: Sequence[Post], *, theme: str = "landscape") -> Path:
    """Make a site with Hexo and the theme of the npm package ``hexo-theme-…`` (folder: ``NODE_PATH``)."""
    for post in posts:
        head = {"title": post.title, "date": f"{post.published:%Y-%m-%d %H:%M:%S}", "slug": post.slug}
        head |= {"categories": post.category, "author": post.author}
        lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in head.items())
        _write(folder / f"source/_posts/{post.slug}.md", f"---\n{lines}---\n{as_markdown(post)}")
    node = Path(os.environ["NODE_PATH"])
    (folder / "node_modules").symlink_to(node)
    names = [one.name for one in node.iterdir() if one.name.startswith("hexo")]
    _write(
        folder / "package.json",
        json.dumps({"name": "site", "hexo": {"version": ""}, "dependencies": dict.fromkeys(names, "*")}),
    )
    _write(
        folder / "_config.yml",
        f"title: Hexo News\nurl: {url}\ntheme: {theme}\ntimezone: Europe/Berlin\nlanguage: en\n"
        "permalink: :year/:month/:day/:title/\nper_page: 10\n",
    )
    _run(folder, "node", str(node / "hexo-cli" / "bin" / "hexo"), "generate", "--silent")
    return folder / "public"


_GUIDES = {
    "install": "Put the box on a level floor, and connect the two hoses to the tap.",
    "first-steps": "Fill the tank up to the line, and turn the wheel until the lamp becomes green.",
    "settings": "The wheel has four positions, which are explained in the table at the end of this guide.",
    "cleaning": "Wipe the seal with a damp cloth before you close the lid again.",
    "repair": "If the lamp stays red, take the filter out, rinse it under warm water, and put it back.",
    "questions": "Many people ask how loud it is while it is running.",
}


def docusaurus(folder: Path, url: str, posts: Sequence[Post]) -> Path:
    """Make a site with Docusaurus: a blog, and guides without dates (packages: ``NODE_PATH``)."""
    for post in posts:
        head = {"title": post.title, "slug": post.slug, "tags": [post.category]}
        lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in head.items())
        lines += f"authors: {json.dumps([{'name': post.author}])}\ndate: {post.published.isoformat()}\n"
        _write(folder / f"blog/{post.slug}.md", f"---\n{lines}---\n\n{as_markdown(post)}")
    for name, text in _GUIDES.items():
        _write(folder / f"docs/{name}.md", f"# {name.title()}\n\n" + f"{text}\n\n" * 12)
    config = {
        "title": "Docusaurus News", "url": url, "baseUrl": "/", "onBrokenLinks": "ignore",
        "markdown": {"format": "detect"},
        "presets": [["classic", {"blog": {"onInlineTags": "ignore", "onInlineAuthors": "ignore"}}]],
        "themeConfig": {"navbar": {"title": "News", "items": [{"to": "/blog", "label": "Blog"},
                                                              {"to": "/docs/install", "label": "Guides"}]}},
    }  # fmt: skip
    _write(folder / "docusaurus.config.js", f"module.exports = {json.dumps(config)};")
    _write(folder / "src/pages/index.md", "# Docusaurus News\n\n[Blog](/blog) [Guides](/docs/install)\n")
    node = Path(os.environ["NODE_PATH"])
    (folder / "node_modules").symlink_to(node)
    _write(folder / "package.json", json.dumps({"name": "site", "private": True}))
    _run(folder, "node", str(node / "@docusaurus/core/bin/docusaurus.mjs"), "build")
    return folder / "build"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _run(folder: Path, name: str, *words: str) -> None:
    command = [_command(name) or name, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:] or done.stdout[-2000:]}")


def _command(name: str) -> str | None:
    """Return the path of a program in the folder of the Python interpreter or on PATH."""
    return shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
