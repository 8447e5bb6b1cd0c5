"""Functions on URLs: canonical form, fingerprint (identity of a page), host key (for politeness), site.

URLs are parsed with ada-url, which follows WHATWG (https://url.spec.whatwg.org), so that a link has the same
meaning as in a browser. The canonical form removes differences that do not change the page: tracking and
session parameters, default documents, repeated slashes, escapes (RFC 3986, 6.2.2). The canonical URL only
*identifies* a page; requests use the site's spelling.

Decisions:

- The fragment is removed, even ``#!``. Servers do not receive it, so the response does not depend on it.
- The order of the query's keys is kept. The order matters for repeated and positional keys, and the links of
  one site rarely differ in it. If a page still has two canonical URLs, the copy is recognised by its text.
- A trailing slash is kept. ``/a`` and ``/a/`` may be two pages, and relative links resolve differently. If
  they are one page, the server redirects.
- ``http`` and ``https``, with and without ``www.``, stay different in the canonical URL, because the host may
  answer to only one of them. :func:`fingerprint` makes them equal.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from functools import cache, lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import TYPE_CHECKING

import ada_url

if TYPE_CHECKING:
    from tldextract import TLDExtract

MAX_URL = 8192
"""Maximum length of a URL in characters. Most servers refuse URLs of more than 8 kB, too."""
_MAX_HOST = 253  # RFC 1035, 2.3.4: resolvers refuse longer names


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_TRACKING = _words(
    # Click ids of advertisers and advertising networks.
    "fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ysclid ymclid yadclid twclid ttclid igshid igsh",
    "li_fat_id rb_clickid mt_click_id irclickid cjevent epik tblci dicbo srsltid zanpid s_kwcid ef_id",
    "_branch_match_id",
    # Keys of analytics, newsletters and campaigns.
    "_openstat xtor _ga _gl ga_source ga_medium ga_campaign ga_content ga_term mc_cid mc_eid mkt_tok",
    "gad_source gad_campaignid cmp ito ftag cx_testid cx_testvariant cx_artpos unlocked_article_code",
    "amp_js_v amp_gsa at_medium at_campaign at_custom1 at_custom2 at_custom3 at_custom4 at_bbc_team",
    "at_link_id at_link_type at_link_origin at_format at_ptr_name at_creation at_variant at_network at_term",
    "at_send_date at_recipient_id",
    "pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content pk_cid pk_vid",
    "_hsenc _hsmi __hssc __hstc __hsfp hsctatracking _kx vero_id vero_conv oly_anon_id oly_enc_id wickedid",
    "cmpid intcmp int_cmp icid ncid ocid s_cid smid wt_mc wt_zmc wt.mc_id etext roistat nr_email_referer",
    "ns_campaign ns_mchannel ns_source ns_linkname ns_fee guccounter guce_referrer guce_referrer_sig",
    # Keys that say where a reader came from.
    "ref_src ref_url fb_ref fb_source fb_action_ids fb_action_types __twitter_impression sr_share wprov",
    # A key that opens the form for comments on the same page.
    "replytocom",
    # Session ids. Keys that end in sessionid are dropped as well.
    "phpsessid sessid session_id cfid cftoken oscsid zenid",
)
_TRACKING_STARTS = (
    "utm_", "mtm_", "matomo_", "itm_", "gm_utm_", "hsa_", "elqtrack", "aspsessionid",
)  # fmt: skip
_SESSION_VALUE = re.compile(r"[0-9a-fA-F]{32}")  # other values of sid= are mostly section numbers

_DEFAULT_DOCUMENTS = _words(
    "index.html index.htm index.shtml index.xhtml index.phtml index.php index.php3 index.php5 index.asp",
    "index.aspx index.jsp index.cgi index.pl index.cfm default.asp default.aspx default.htm default.html",
)

_ASSETS = _words(
    "jpg jpeg jpe jfif png gif webp avif svg svgz bmp ico tif tiff heic psd eps",
    "css js mjs map wasm woff woff2 ttf otf eot webmanifest swf",
    "mp3 m4a aac ogg oga opus wav flac wma mid mp4 m4v webm ogv avi mov mkv mpg mpeg wmv flv 3gp m3u8 mpd",
    "ts vtt srt pdf doc docx xls xlsx ppt pptx odt ods odp rtf epub mobi fb2 djvu csv ics vcf",
    "zip rar 7z tgz bz2 xz tar exe msi dmg pkg deb rpm apk ipa iso bin torrent",
)
"""Extensions of files without links and articles.

``xml``, ``json`` and ``gz`` are not among them, because such files may be feeds or sitemaps.
"""

_HREF = re.compile(r"(https?://)(?:[^/@]*@)?(\[[^\]]*\]|[^/:]*)(:\d+)?(/[^?#]*)(?:\?([^#]*))?")
"""Matches a URL as ada serialises it: a slash, ``@`` or colon in the user name or password is escaped."""

_UNTIDY_ESCAPE = re.compile(
    r"%(?:(?![0-9A-F]{2})([0-9A-Fa-f]{2})?"  # an escape with lower-case digits, or a % that is not an escape
    r"|(2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]))"  # an unreserved character
)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# /news;jsessionid=0A1B
_SESSION_IN_PATH = re.compile(r";(?:[a-z]*sessionid|phpsessid)(?:=[^/;]*)?(?=[/;]|$)", re.IGNORECASE)
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:[/\\#]|$)", re.IGNORECASE)
_SLASHES = re.compile("//+")
_WHOLE = re.compile(r"https?://[^\s/\\][^\s\\\x00-\x1f\x7f\u2028\u2029]*", re.IGNORECASE)
_COMMON = re.compile(r"https?://(?!.{0,250}xn--)(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63}(?:[/?#][!-\[\]-~]*)?")
"""Matches about nine in ten URLs. A URL of this form is always valid, so it is not parsed."""


def canonicalize(url: str, drop_query: tuple[str, ...] = ()) -> str:
    """Return the canonical form of an absolute http(s) URL. The function is idempotent.

    ``drop_query`` has additional query keys to remove on this site. Case is ignored, and ``name*`` matches
    all keys with this prefix. ``name form`` matches a key only in URLs whose path has this form
    (:func:`path_form`). Raises ``ValueError`` with a message for users.
    """
    scheme, host, port, path, query = _split(url)
    if "%" in path:
        path = _UNTIDY_ESCAPE.sub(_tidy_escape, path)
    if ";" in path:
        path = _without_session(path)
    if "//" in path:
        path = _SLASHES.sub("/", path)
    slash = path.rfind("/") + 1
    if path[slash:].lower() in _DEFAULT_DOCUMENTS:
        path = path[:slash]
    if query:
        query = _tidy_query(query, drop_query, path)
    canonical = f"{scheme}{host}{port}{path}?{query}" if query else f"{scheme}{host}{port}{path}"
    if len(canonical) > MAX_URL:
        raise ValueError(f"{_short(url)} is too long: over {MAX_URL} characters")
    return canonical


def path_form(path: str) -> str:
    """Return the form of a path, e.g. ``/news/*``. Only short words, perhaps with an extension, are kept."""
    return "/".join(part if _WORD.fullmatch(part) else "*" for part in path.split("/"))


_WORD = re.compile(r"(?:[A-Za-z]{1,20}(?:\.[A-Za-z]{1,5})?)?")


def canonical_or_same(url: str) -> str:
    """Return the canonical form of a URL, or the URL itself if it has none."""
    try:
        return canonicalize(url)
    except ValueError:
        return url


def fingerprint(canonical: str) -> bytes:
    """Return the identity of a page: the 16-byte BLAKE2b hash of its canonical URL.

    The scheme and a leading ``www.`` are left out. Sites move to https and add or remove ``www.``, but they
    do not publish two pages whose URLs differ only in these parts.
    """
    name = canonical.partition("://")[2]
    # In ``www.com`` the label ``www`` is part of the domain itself.
    if name.startswith("www.") and "." in name[4:].partition("/")[0]:
        name = name[4:]
    return blake2b(name.encode(), digest_size=16).digest()


def host_key(url: str) -> str:
    """Return the politeness key: the host in ASCII form, with ``:port`` if it is not the scheme's default.

    Raises ``ValueError`` if ``url`` is not an absolute http(s) URL.
    """
    _, host, port, _, _ = _split(url)
    return host + port


def ascii_host(name: str) -> str:
    """Return a host name in its stored form: ASCII and lower case. Other text is only lower-cased."""
    return ada_url.idna_to_ascii(name.encode()).decode() or name.lower()


def host_in_letters(name: str) -> str:
    """Return a host name, or one label of it, in Unicode. A name without a Unicode form is not changed."""
    ascii_form = name.lower().encode()
    letters: str = ada_url.idna_to_unicode(ascii_form)
    return letters if ada_url.idna_to_ascii(letters.encode()) == ascii_form else name


def resolve(base: str, href: str) -> str | None:
    """Return the absolute URL of the link ``href`` on the page ``base``, as in a browser. Never raises.

    Returns None for other schemes (``mailto:``, ``javascript:``), for broken URLs, and for URLs longer than
    :data:`MAX_URL`.
    """
    if len(href) > MAX_URL or len(base) > MAX_URL:
        return None
    try:
        url = ada_url.join_url(base, href)
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) and len(url) <= MAX_URL else None


def absolute(base: str, href: str) -> str | None:
    """Return ``href`` as an absolute http(s) URL; None if it is not an http(s) URL or too long.

    A URL that is already absolute is not changed: the crawler fetches the URL as the site wrote it. Only
    ``&amp;`` from double escaping is resolved, because it is always an error.
    """
    href = with_scheme(base, href.strip())
    if not href:
        return None
    if "&amp;" in href or "&#38;" in href:
        href = href.replace("&amp;", "&").replace("&#38;", "&")
    if _COMMON.fullmatch(href):
        return href if len(href) <= MAX_URL else None
    joined = resolve(base, href)
    if joined is None:
        return None
    return href if _WHOLE.fullmatch(href) else joined  # joining may have changed the spelling


def without_dots(url: str) -> str:
    """Return a URL with the dot segments of its path resolved, as browsers do before they send it.

    A URL without dot segments is not changed.
    """
    if _DOTS.search(url.partition("?")[0]) is None:
        return url
    try:
        return ada_url.normalize_url(url)
    except ValueError:
        return url


_HOST_FIRST = re.compile(
    r"(?:https?:/(?!/))?(((?:[\w-]{1,63}\.){1,6}[^\W\d_]{2,63})(?::\d{1,5})?(?=[/?#]|$).*)"
)
"""Matches an absolute URL without a scheme, or with only one slash: ``www.example.org/a``."""


def with_scheme(base: str, href: str) -> str:
    """Return an absolute URL without a scheme with the scheme of ``base``. Other links are not changed.

    ``news.example/a`` is such a URL if it is on the site of ``base``. Otherwise it is a relative path.

    >>> with_scheme("https://news.example/sitemap.xml", "www.news.example/a")
    'https://www.news.example/a'
    """
    match = _HOST_FIRST.match(href)
    if match is None:
        return href
    scheme, _, rest = base.partition("://")
    host = rest.partition("/")[0]
    is_ours = rest and site_of(ascii_host(match[2])) == site_of(host)
    return f"{scheme}://{match[1]}" if is_ours else href


@lru_cache(maxsize=65536)
def site_of(host: str) -> str:
    """Return the registered domain of a host by the public suffix list, e.g. ``bbc.co.uk``.

    A port is allowed and ignored. IP addresses, single labels and public suffixes are returned as they are.
    The private part of the list is used too (``spb.ru``, ``blogspot.com``), because the subdomains of such
    names belong to different owners. The list is the copy in tldextract (https://publicsuffix.org); nothing
    is downloaded.
    """
    name = host.lower().rstrip(".")
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    name = name.partition(":")[0]
    if _is_address(name):
        return name
    found = _suffix_list().extract_str(name)
    if not found.suffix:  # the list's default rule: an unknown top-level domain is a suffix
        return ".".join(name.rsplit(".", 2)[-2:])
    return found.top_domain_under_public_suffix or name


@cache
def _suffix_list() -> TLDExtract:
    import tldextract  # noqa: PLC0415  (it imports requests, which takes a quarter of a command's start time)

    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


def is_asset(url: str, pages: Collection[str] = ()) -> bool:
    """Return True if the path has the extension of an image, style sheet, script, document, archive, audio or
    video. ``pages`` are extensions of files that are read like pages."""
    path = url.partition("#")[0].partition("?")[0]
    scheme, found, rest = path.partition("://")
    _, slash, name = (rest if found else scheme).rpartition("/")
    _, dot, extension = name.rpartition(".")
    extension = extension.lower()
    return bool(slash and dot) and extension in _ASSETS and extension not in pages


def meant(text: str) -> str:
    """Return the end of a message about an invalid URL: the URL that was probably meant, or an example."""
    scheme = _SCHEME.match(text)
    near = get_close_matches(scheme[1].lower(), ("https", "http"), n=1) if scheme else []
    if scheme and near:
        url = f"{near[0]}://{text[scheme.end() :]}"
    elif _HERE.match(text):
        url = f"http://{text}"
    else:
        url = f"https://{text}" if "." in text.partition("/")[0].strip(".") and "://" not in text else ""
    try:
        host_key(url)
    except ValueError:
        return "; write for example https://example.org/news/1"
    return f" (did you mean {url!r}?)"


# https:/, http//, htps://, and so on
_SCHEME = re.compile(r"([a-z]{3,6})[:;.]?/{1,3}(?=[^/])", re.IGNORECASE)
_HERE = re.compile(r"localhost\b|[\w.-]+:\d")
"""Matches a local host as users type it: ``localhost``, or a name and a port."""


@lru_cache(maxsize=1024)
def _split(url: str) -> tuple[str, str, str, str, str]:
    """Parse a URL. Return scheme, host, port, path and query.

    The scheme ends with ``://``. The port begins with ``:`` or is empty. The query is without ``?``. Raises
    ``ValueError`` if the URL is not an absolute http(s) URL with a usable host, or is too long.
    """
    if len(url) > MAX_URL:
        raise ValueError(f"{_short(url)} is too long: over {MAX_URL} characters")
    try:
        match = _HREF.match(ada_url.normalize_url(url))
    except ValueError as error:  # a lone surrogate raises UnicodeEncodeError, which is a ValueError
        raise ValueError(f"{_short(url)} is not an absolute http(s) URL") from error
    if match is None:
        raise ValueError(f"{_short(url)} is not an absolute http(s) URL")
    scheme, host, port, path, query = match.groups("")
    if host.endswith("."):
        host = host[:-1]
    if not host or ".." in host or host[0] == "." or host[-1] == "." or len(host) > _MAX_HOST:
        raise ValueError(f"{_short(url)} has no usable host name")
    return scheme, host, port, path, query


def _tidy_escape(match: re.Match[str]) -> str:
    """Return the replacement of a match of :data:`_UNTIDY_ESCAPE`.

    An escape is returned in upper case, or decoded if it is an unreserved character. A ``%`` that does not
    begin an escape becomes ``%25``.
    """
    digits = match[1] or match[2]
    if digits is None:
        return "%25"
    code = int(digits, 16)
    return chr(code) if code in _UNRESERVED else f"%{code:02X}"


def _without_session(path: str) -> str:
    """Return ``path`` without session ids such as ``;jsessionid=…``."""
    stripped = _SESSION_IN_PATH.sub("", path)
    if stripped == path:
        return path
    # The new path may have dot segments, so it is parsed again: ``/a/..;jsessionid=1/b`` becomes ``/a/../b``.
    return ada_url.normalize_url("http://h" + stripped)[len("http://h") :]


def _tidy_query(query: str, drop_query: tuple[str, ...], path: str) -> str:
    if "%" in query:
        query = _UNTIDY_ESCAPE.sub(_tidy_escape, query)
    names, starts, forms = _dropped(drop_query)
    if forms:
        names |= forms.get(path_form(path), frozenset())
    kept = []
    for part in query.split("&"):
        key, _, value = part.partition("=")
        key = key.lower().removeprefix("amp;")  # amp; remains if a link was escaped twice
        if not (part == "" or key in names or key.startswith(starts) or _says_nothing(key, value)):
            kept.append(part)
    return "&".join(kept)


def _says_nothing(key: str, value: str) -> bool:
    """Return True for a key with a session id or the position of a link (``spm=a2c4e.11153940.0.0``)."""
    if key == "spm":
        return value.count(".") > 1
    return key.endswith("sessionid") or (key == "sid" and _SESSION_VALUE.fullmatch(value) is not None)


@lru_cache(maxsize=4096)
def _dropped(
    drop_query: tuple[str, ...],
) -> tuple[frozenset[str], tuple[str, ...], dict[str, frozenset[str]]]:
    """Return the names of all query keys to drop, the prefixes of such names, and more names by the form of
    the path."""
    keys = [key.lower() for key in drop_query if " " not in key]
    names = _TRACKING.union(key for key in keys if not key.endswith("*"))
    forms: dict[str, frozenset[str]] = {}
    for key, _, form in (key.partition(" ") for key in drop_query if " " in key):
        forms[form] = forms.get(form, frozenset()) | {key.lower()}
    return names, _TRACKING_STARTS + tuple(key[:-1] for key in keys if key.endswith("*")), forms


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _short(url: str) -> str:
    return ascii(url if len(url) <= 100 else url[:100] + "…")
