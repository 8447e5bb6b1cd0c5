from __future__ import annotations

import contextlib
import gzip
import http.client
import urllib.error
import urllib.request
from email.message import Message
from urllib.parse import urlsplit

import pytest

from testbed.loopback import LoopbackServer
from testbed.messages import Answer, Request
from testbed.mockserver import TEXT, MockServer
from testbed.wire import MAX_HEADERS


def get(site: LoopbackServer, url: str, **headers: str) -> tuple[int, bytes, Message]:
    """Fetch one URL through the server as a proxy, without following redirects."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: object, **kwargs: object) -> None:
            return None

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": site.address}), Stay)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with opener.open(urllib.request.Request(url, headers=names), timeout=60) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), error.headers


def at(path: str) -> str:
    return f"http://any.test{path}"


def test_pages_are_kept_apart_by_host(site: MockServer) -> None:
    site.page("http://one.test/a?x=1", "one")
    site.page("http://two.test/a?x=1", "two")
    assert get(site, "http://one.test/a?x=1")[1] == b"one"
    assert get(site, "http://two.test/a?x=1")[1] == b"two"
    assert get(site, "http://two.test/a?x=2")[0] == 404
    assert site.seen("two.test") == ["/a?x=1", "/a?x=2"]


def test_a_path_is_served_on_every_host_and_without_a_proxy(site: MockServer) -> None:
    address = site.page("/b", b"bytes", headers={"Content-Type": "text/plain"})
    assert get(site, "http://three.test/b")[1] == b"bytes"
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    connection.request("GET", urlsplit(address).path)
    answer = connection.getresponse()
    assert (answer.read(), answer.getheader("Content-Type")) == (b"bytes", "text/plain")
    connection.close()


def test_a_page_may_be_a_function_of_the_request(site: MockServer) -> None:
    site.page("/who", lambda request: Answer(body=request.host.encode(), kind="who"))
    assert get(site, "http://four.test/who")[1] == b"four.test"
    assert site.requests("/who")[0].kind == "who"


def test_an_error_in_a_page_function_is_reported_and_the_server_continues(site: MockServer) -> None:
    def broken(request: Request) -> Answer:
        raise KeyError("oh")

    site.page("/broken", broken)
    status, body, _ = get(site, at("/broken"))
    assert (status, b"KeyError" in body) == (500, True)
    assert get(site, at("/etag"))[0] == 200


def test_robots_of_one_host(site: MockServer) -> None:
    assert get(site, at("/robots.txt"))[0] == 404
    site.robots("Disallow: /x", host="any.test")
    assert get(site, at("/robots.txt"))[1] == b"Disallow: /x"
    assert get(site, "http://other.test/robots.txt")[0] == 404


def test_status_with_retry_after_recovers(site: MockServer) -> None:
    url = at("/status/503?retry_after=7&times=1")
    status, _, headers = get(site, url)
    assert (status, headers["Retry-After"]) == (503, "7")
    assert get(site, url)[0] == 200


@pytest.mark.parametrize("path", ["/drop", "/truncated"])
def test_broken_connections(site: MockServer, path: str) -> None:
    with pytest.raises((urllib.error.URLError, http.client.HTTPException, ConnectionError)):
        get(site, at(path))
    assert site.log[0].status == (0 if path == "/drop" else 200)


def test_redirects(site: MockServer) -> None:
    status, _, headers = get(site, at("/redirect?to=http://b.test/&status=308"))
    assert (status, headers["Location"]) == (308, "http://b.test/")
    assert get(site, at("/redirect-loop"))[2]["Location"] == "/redirect-loop/again"
    assert get(site, at("/redirect-loop/again"))[2]["Location"] == "/redirect-loop"
    assert get(site, at("/redirect-chain/2"))[2]["Location"] == "/redirect-chain/1"
    assert get(site, at("/redirect-chain/0"))[0] == 200


def test_conditional_requests(site: MockServer) -> None:
    etag = get(site, at("/etag"))[2]["ETag"]
    status, body, headers = get(site, at("/etag"), If_None_Match=f'"other", W/{etag}')
    assert (status, body, headers["ETag"]) == (304, b"", etag)
    assert get(site, at("/etag"), If_None_Match='"other"')[0] == 200
    assert [record.conditional for record in site.log] == [False, True, True]
    since = get(site, at("/last-modified"))[2]["Last-Modified"]
    assert get(site, at("/last-modified"), If_Modified_Since=since)[0] == 304


def test_last_modified_of_a_page(site: MockServer) -> None:
    site.page("/dated", "text", last_modified=1_000_000.0)
    since = get(site, at("/dated"))[2]["Last-Modified"]
    assert since == "Mon, 12 Jan 1970 13:46:40 GMT"
    assert get(site, at("/dated"), If_Modified_Since=since)[0] == 304
    assert get(site, at("/dated"), If_Modified_Since="Mon, 12 Jan 1970 13:46:39 GMT")[0] == 200
    assert get(site, at("/dated"), If_Modified_Since="nonsense")[0] == 200


def test_charsets(site: MockServer) -> None:
    _, body, headers = get(site, at("/charset/windows-1251?header=utf-8"))
    assert TEXT in body.decode("windows-1251")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert get(site, at("/charset/koi8-r"))[2]["Content-Type"] == "text/html"


def test_gzip(site: MockServer) -> None:
    _, body, headers = get(site, at("/gzip"))
    assert b"packed" in gzip.decompress(body)
    assert headers["Content-Type"] == "text/html"


def test_huge_is_chunked_and_may_be_endless(site: MockServer) -> None:
    _, body, headers = get(site, at("/huge?mb=1"))
    assert (len(body), headers["Content-Length"]) == (2**20, None)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": site.address}))
    with opener.open(at("/huge"), timeout=60) as endless:
        assert len(endless.read(3 * 2**20)) == 3 * 2**20


def test_other_misbehaviours(site: MockServer) -> None:
    assert get(site, at("/binary-as-html"))[1].startswith(b"\x89PNG")
    assert get(site, at("/empty"))[1] == b""
    assert get(site, at("/slow?seconds=0"))[0] == 200
    assert get(site, at("/trickle?seconds=0"))[1].count(b"piece") == 10
    assert get(site, at("/bad-gzip"))[2]["Content-Encoding"] == "gzip"


def test_head_and_keep_alive(site: MockServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    connection.request("HEAD", "/etag")
    answer = connection.getresponse()
    length = int(answer.getheader("Content-Length") or 0)
    assert answer.read() == b""
    socket = connection.sock
    connection.request("POST", "/etag", body=b"a=1")
    assert len(connection.getresponse().read()) == length
    assert connection.sock is socket
    connection.close()


def test_a_tunnel_is_refused(site: MockServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    connection.set_tunnel("secret.test", 443)
    with pytest.raises(OSError, match="501"):
        connection.request("GET", "/")
    assert (site.log[0].kind, site.log[0].host) == ("tunnel", "secret.test")


@pytest.mark.parametrize(
    "request_text",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"h%d: 1\r\n" % n for n in range(MAX_HEADERS + 2)) + b"\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ],
    ids=["no-http", "bad-length", "long-body", "many-headers", "long-line"],
)
def test_invalid_http_closes_only_the_connection(site: MockServer, request_text: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    connection.connect()
    connection.sock.sendall(request_text)
    with contextlib.suppress(ConnectionResetError):  # closed before our bytes were read: the same result
        assert connection.sock.recv(100) == b""
    connection.close()
    assert get(site, at("/etag"))[0] == 200


def test_a_port_in_use_is_an_error(site: MockServer) -> None:
    second = LoopbackServer(lambda _: Answer(), port=site.port)
    with pytest.raises(OSError, match="in use"):
        second.start()
    second.stop()


def test_stopping_twice_and_with_clients_is_harmless() -> None:
    server = MockServer().start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/etag")
    connection.getresponse().read()
    server.stop()
    server.stop()
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        connection.connect()
