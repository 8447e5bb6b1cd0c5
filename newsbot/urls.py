"""URLs: canonical form, fingerprint (identity), host key (politeness), site.

Parsing is WHATWG's (https://url.spec.whatwg.org, by ada-url, so that a link means here what it means
in a browser). On top come only the rules that tell one page from another: tracking and session
parameters, default documents, repeated slashes, escapes (RFC 3986, 6.2.2).

The canonical URL *names* a page; what is fetched stays what the site wrote. Deliberate choices:

* The fragment goes, ``#!`` too: no server ever sees it, and newsbot runs no scripts, so that all
  hash-bang addresses of one document bring the same bytes.
* The query keeps its order: repeated and positional keys mean what their order says, and a site's
  own links hardly ever differ in it. What does slip through is caught by its text.
* A trailing slash stays: ``/a`` and ``/a/`` may be two pages, and relative links differ. Where they
  are one, the server redirects and the redirect tells.
* ``http`` and ``https``, with and without ``www.``, stay apart in the canonical URL, because only one
  of them may answer; :func:`fingerprint` makes them one.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import TYPE_CHECKING

import ada_url

if TYPE_CHECKING:
    from tldextract import TLDExtract

MAX_URL = 8192
"""Characters; longer URLs are refused (servers refuse them too, mostly from 8 kB on)."""
_MAX_HOST = 253  # RFC 1035, 2.3.4: no resolver takes more


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_TRACKING = _words(
    # Click ids of advertisers and networks.
    "fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ysclid ymclid yadclid twclid ttclid igshid igsh",
    "li_fat_id rb_clickid mt_click_id irclickid cjevent epik tblci dicbo srsltid zanpid s_kwcid ef_id",
    "_branch_match_id",
    # Analytics, newsletters, campaigns.
    "_openstat xtor _ga _gl ga_source ga_medium ga_campaign ga_content ga_term mc_cid mc_eid mkt_tok",
    "_hsenc _hsmi __hssc __hstc __hsfp hsctatracking _kx vero_id vero_conv oly_anon_id oly_enc_id wickedid",
    "cmpid intcmp int_cmp icid ncid ocid s_cid smid wt_mc wt_zmc wt.mc_id etext roistat nr_email_referer",
    "ns_campaign ns_mchannel ns_source ns_linkname ns_fee guccounter guce_referrer guce_referrer_sig",
    # Where a reader came from.
    "ref_src ref_url fb_ref fb_source fb_action_ids fb_action_types __twitter_impression sr_share wprov spm",
    # The same page with another form open.
    "replytocom",
    # Sessions; keys that end in sessionid go as well.
    "phpsessid sessid session_id cfid cftoken oscsid zenid",
)
_TRACKING_STARTS = (
    "utm_",
    "at_",
    "pk_",
    "mtm_",
    "matomo_",
    "itm_",
    "gm_utm_",
    "hsa_",
    "elqtrack",
    "aspsessionid",
)
_SESSION_VALUE = re.compile(r"[0-9a-fA-F]{32}")  # sid=… is often a section's number, seldom a session

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
"""Extensions of files without links and articles; ``xml``, ``json`` and ``gz`` may be feeds or sitemaps."""

_HREF = re.compile(r"(https?://)(?:[^/@]*@)?(\[[^\]]*\]|[^/:]*)(:\d+)?(/[^?#]*)(?:\?([^#]*))?")
"""What ada serialises; a slash, ``@`` or colon inside the user's name or password is escaped there."""

_UNTIDY_ESCAPE = re.compile(
    r"%(?:(?![0-9A-F]{2})([0-9A-Fa-f]{2})?"  # lower-case digits, or no escape at all
    r"|(2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]))"  # an unreserved character
)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SESSION_IN_PATH = re.compile(r";(?:[a-z]*sessionid|phpsessid)(?:=[^/;]*)?(?=[/;]|$)", re.IGNORECASE)
_SLASHES = re.compile("//+")


def canonicalize(url: str, drop_query: tuple[str, ...] = ()) -> str:
    """Return the canonical form of an absolute http(s) URL; applying it twice changes nothing.

    ``drop_query`` are further query keys that do not matter on this site, without regard to case;
    ``name*`` stands for all keys that begin so. Raises ``ValueError`` with a readable text.
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
        query = _tidy_query(query, drop_query)
    canonical = f"{scheme}{host}{port}{path}?{query}" if query else f"{scheme}{host}{port}{path}"
    if len(canonical) > MAX_URL:
        raise ValueError(f"{_short(url)} is too long: over {MAX_URL} characters")
    return canonical


def fingerprint(canonical: str) -> bytes:
    """Return the identity of a page: 16 bytes (BLAKE2b) of its canonical URL.

    The scheme and a leading ``www.`` are left out: sites move to https and drop or add ``www.``, and
    nobody publishes two pages that differ in nothing else.
    """
    name = canonical.partition("://")[2]
    if name.startswith("www.") and "." in name[4:].partition("/")[0]:
        name = name[4:]
    return blake2b(name.encode(), digest_size=16).digest()


def host_key(url: str) -> str:
    """Return the politeness key: the host in ASCII form, with ``:port`` if it is not the scheme's default.

    Raises ``ValueError`` for what is no absolute http(s) URL.
    """
    _, host, port, _, _ = _split(url)
    return host + port


def resolve(base: str, href: str) -> str | None:
    """Return what ``href`` on the page ``base`` points to, as a browser would; never raises.

    None for other schemes (``mailto:``, ``javascript:``), broken URLs and those over the size limit.
    """
    if len(href) > MAX_URL or len(base) > MAX_URL:
        return None
    try:
        url = ada_url.join_url(base, href)
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) and len(url) <= MAX_URL else None


def path_and_query(url: str) -> str:
    """Return what the patterns of rules see: path and query of the canonical URL, escapes as they are there.

    Any http(s) URL may be given. Raises ``ValueError`` as :func:`canonicalize` does.
    """
    canonical = canonicalize(url)
    return canonical[canonical.index("/", 8) :]


@lru_cache(maxsize=65536)
def site_of(host: str) -> str:
    """Return the registered domain of a host by the public suffix list, e.g. ``bbc.co.uk``.

    A port is allowed and ignored. Addresses, single labels and public suffixes stand for themselves.
    Names that the list's private part calls suffixes (``spb.ru``, ``blogspot.com``) are such: their
    subdomains have owners of their own. The list is the one inside tldextract; nothing is downloaded.
    """
    name = host.lower().rstrip(".")
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    name = name.partition(":")[0]
    if _is_address(name):
        return name
    found = _suffix_list().extract_str(name)
    if not found.suffix:  # the list's own last rule: an unknown top level is a suffix
        return ".".join(name.rsplit(".", 2)[-2:])
    return found.top_domain_under_public_suffix or name


@cache
def _suffix_list() -> TLDExtract:
    import tldextract  # noqa: PLC0415  (it imports requests: a quarter of the start of a command)

    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


def is_asset(url: str) -> bool:
    """True if the path ends like a picture, style sheet, script, document, archive, sound or film."""
    path = url.partition("#")[0].partition("?")[0]
    scheme, found, rest = path.partition("://")
    _, slash, name = (rest if found else scheme).rpartition("/")
    _, dot, extension = name.rpartition(".")
    return bool(slash and dot) and extension.lower() in _ASSETS


def _split(url: str) -> tuple[str, str, str, str, str]:
    """Parse; return scheme with ``://``, host, port with ``:`` or nothing, path, query without ``?``."""
    if len(url) > MAX_URL:
        raise ValueError(f"{_short(url)} is too long: over {MAX_URL} characters")
    try:
        match = _HREF.match(ada_url.normalize_url(url))
    except ValueError as error:  # a lone surrogate is UnicodeEncodeError, which is one
        raise ValueError(f"{_short(url)} is no absolute http(s) URL") from error
    if match is None:
        raise ValueError(f"{_short(url)} is no absolute http(s) URL")
    scheme, host, port, path, query = match.groups("")
    if host.endswith("."):
        host = host[:-1]
    if not host or ".." in host or host[0] == "." or host[-1] == "." or len(host) > _MAX_HOST:
        raise ValueError(f"{_short(url)} has no usable host name")
    return scheme, host, port, path, query


def _tidy_escape(match: re.Match[str]) -> str:
    """Upper-case an escape, decode an unreserved character, escape a ``%`` that escapes nothing."""
    digits = match[1] or match[2]
    if digits is None:
        return "%25"
    code = int(digits, 16)
    return chr(code) if code in _UNRESERVED else f"%{code:02X}"


def _without_session(path: str) -> str:
    """Drop ``;jsessionid=…``; what is left may be a dot segment, so that it is parsed again."""
    stripped = _SESSION_IN_PATH.sub("", path)
    if stripped == path:
        return path
    return ada_url.normalize_url("http://h" + stripped)[len("http://h") :]


def _tidy_query(query: str, drop_query: tuple[str, ...]) -> str:
    if "%" in query:
        query = _UNTIDY_ESCAPE.sub(_tidy_escape, query)
    names, starts = _dropped(drop_query)
    kept = []
    for part in query.split("&"):
        key, _, value = part.partition("=")
        key = key.lower().removeprefix("amp;")  # a link that was escaped twice
        if not (part == "" or key in names or key.startswith(starts) or _is_session(key, value)):
            kept.append(part)
    return "&".join(kept)


def _is_session(key: str, value: str) -> bool:
    return key.endswith("sessionid") or (key == "sid" and _SESSION_VALUE.fullmatch(value) is not None)


@lru_cache(maxsize=4096)
def _dropped(drop_query: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names and the beginnings of names of all keys to drop."""
    keys = [key.lower() for key in drop_query]
    names = _TRACKING.union(key for key in keys if not key.endswith("*"))
    return names, _TRACKING_STARTS + tuple(key[:-1] for key in keys if key.endswith("*"))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _short(url: str) -> str:
    return ascii(url if len(url) <= 100 else url[:100] + "…")
