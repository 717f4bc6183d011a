from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Iterator, Sequence

import pytest

from agent_ls.environments.errors import PageError
from agent_ls.features.web.addresses import is_public, literal_address
from agent_ls.features.web.pages import MAX_BYTES, MAX_RECEIVED, MAX_REDIRECTS, HttpPages
from tests.support.web_server import Answer, WebServer, web_server

pytestmark = pytest.mark.req("P4", "T13")
HERE = "127.0.0.1"
NAME = "docs.example"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", True), ("2606:4700::1111", True), ("::ffff:8.8.8.8", True),
        ("127.0.0.1", False), ("10.0.0.1", False), ("172.16.0.1", False), ("192.168.0.1", False), ("0.0.0.0", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("224.0.0.1", False), ("255.255.255.255", False),
        ("::1", False), ("::", False), ("fe80::1%eth0", False), ("fd00::1", False), ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False), ("2002:a00:1::", False), ("docs.example", False), ("", False),
    ],
)  # fmt: skip
def test_only_internet_addresses_count_as_public(address: str, expected: bool) -> None:
    assert is_public(address) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", HERE),
        ("LOCALHOST.", HERE),
        ("a.localhost", HERE),
        ("::1", "::1"),
        (NAME, ""),
        ("127.1", ""),
    ],
)
def test_host_that_is_an_ip_address_or_localhost_needs_no_dns_lookup(host: str, expected: str) -> None:
    assert literal_address(host) == expected


async def resolve(host: str, port: int) -> Sequence[str]:
    """Resolve the test's host names to this machine; all other names are unknown."""
    if host.endswith("docs.example") or host == "127.1":
        return [HERE]
    raise OSError(f"no such host: {host}")


@pytest.fixture
def server() -> Iterator[WebServer]:
    with web_server({"/": Answer(b"Hello")}) as made:
        yield made


def pages(*secrets: str) -> HttpPages:
    return HttpPages(lambda: secrets, resolve)


async def test_page_is_fetched_without_cookies_keys_or_proxy(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    server.pages["/"] = Answer(b"Hello", headers={"set-cookie": "a=b"})
    mine = pages()
    for _ in range(2):
        page = await mine.fetch(server.url(), HERE)
        assert (page.url, page.status, page.kind, page.text) == (server.url(), 200, "text/plain", "Hello")
    for _, headers in server.asked:
        assert headers["host"] == f"{HERE}:{server.port}" and headers["user-agent"].startswith("agent-ls/")
        assert not {"cookie", "authorization", "referer"} & headers.keys()


async def test_a_private_address_is_contacted_only_if_that_exact_address_was_approved(
    server: WebServer,
) -> None:
    mine, url = pages(), server.url(host=NAME)
    assert mine.private_address(url) == ""  # no approval was requested yet
    with pytest.raises(PageError, match=r"resolves to 127\.0\.0\.1, an address of a private network"):
        await mine.fetch(url, "")
    assert mine.private_address(url) == HERE
    with pytest.raises(PageError, match="private network"):
        await mine.fetch(url, "10.0.0.1")
    assert server.asked == []
    assert (await mine.fetch(url, HERE)).text == "Hello"
    assert server.asked[0][1]["host"] == f"{NAME}:{server.port}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"])
async def test_alternative_notations_of_a_private_address_are_refused(server: WebServer, host: str) -> None:
    with pytest.raises(PageError, match="private network"):
        await pages().fetch(server.url(host=host), "")
    assert server.asked == []


async def test_a_redirect_to_the_same_host_is_followed_and_other_redirects_are_only_reported(
    server: WebServer,
) -> None:
    def to(where: str) -> Answer:
        return Answer(status=302, headers={"location": where})

    server.pages |= {
        "/old": to("/new"),
        "/new": Answer(b"moved"),
        "/away": to(server.url("/new", host=f"other.{NAME}")),
        "/port": to(f"http://{HERE}:1/"),
        "/named": to(f"http://me:secret@{HERE}:{server.port}/new"),
        "/round": to("/round"),
        "/no": to("http://[x"),
        "/large": to(f"http://{HERE}:99999/"),
    }
    assert (await pages().fetch(server.url("/old"), HERE)).url == server.url("/new")
    for path in ("/away", "/port", "/named", "/no", "/large"):
        page = await pages().fetch(server.url(path), HERE)
        assert page.leads_to == server.pages[path].headers["location"] and page.text == ""
    assert [path for path, _ in server.asked] == ["/old", "/new", "/away", "/port", "/named", "/no", "/large"]
    with pytest.raises(PageError, match="redirects too often"):
        await pages().fetch(server.url("/round"), HERE)
    assert len(server.asked) == 7 + MAX_REDIRECTS + 1


async def test_a_long_page_is_truncated_and_a_binary_page_refused(server: WebServer) -> None:
    server.pages |= {
        "/long": Answer(b"a" * (MAX_BYTES + 1)),
        "/bomb": Answer(gzip.compress(b"a" * (MAX_BYTES * 4)), headers={"content-encoding": "gzip"}),
        "/image": Answer(b"\x89PNG", "image/png"),
        "/json": Answer(b"{}", "application/problem+json; charset=utf-8"),
        "/untyped": Answer(b"plain", ""),
    }
    for path in ("/long", "/bomb"):
        page = await pages().fetch(server.url(path), HERE)
        assert page.is_cut and len(page.text) == MAX_BYTES
    with pytest.raises(PageError, match="not text \\(image/png\\)"):
        await pages().fetch(server.url("/image"), HERE)
    assert (await pages().fetch(server.url("/json"), HERE)).kind == "application/problem+json"
    assert (await pages().fetch(server.url("/untyped"), HERE)).text == "plain"


def deflated(data: bytes, window: int) -> bytes:
    stream = zlib.compressobj(wbits=window)
    return stream.compress(data) + stream.flush()


@pytest.mark.parametrize(
    ("coding", "window"),
    [("gzip", 31), ("x-gzip", 31), ("GZip", 31), ("deflate", 15), ("deflate", -15)],
)
async def test_a_compressed_page_is_decompressed_up_to_the_page_limit(
    server: WebServer, coding: str, window: int
) -> None:
    headers = {"content-encoding": coding}
    server.pages |= {
        "/page": Answer("Grüße".encode(), headers={"content-encoding": "identity"}),
        "/small": Answer(deflated("Grüße".encode(), window), headers=headers),
        "/bomb": Answer(deflated(bytes(20 * MAX_BYTES), window), headers=headers),
        "/damaged": Answer(b"\x1f\x8b\x08\x00" + b"\xff" * 100, headers=headers),
    }
    assert (await pages().fetch(server.url("/page"), HERE)).text == "Grüße"
    assert (await pages().fetch(server.url("/small"), HERE)).text == "Grüße"
    tracemalloc.start()
    try:
        page = await pages().fetch(server.url("/bomb"), HERE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert page.is_cut and len(page.text) == MAX_BYTES
    assert peak < 12 * MAX_BYTES
    with pytest.raises(PageError, match="cannot be decompressed"):
        await pages().fetch(server.url("/damaged"), HERE)


@pytest.mark.parametrize(
    "coding", ["br", "zstd", "compress", "gzip, gzip", "gzip,deflate", "identity, gzip", "aes128gcm"]
)
async def test_page_with_an_unsupported_or_with_multiple_content_encodings_is_refused(
    server: WebServer, coding: str
) -> None:
    body = gzip.compress(gzip.compress(b"a" * MAX_BYTES))
    server.pages["/"] = Answer(body, headers={"content-encoding": coding})
    with pytest.raises(PageError, match="a format that was not requested"):
        await pages().fetch(server.url(), HERE)
    assert server.asked[0][1]["accept-encoding"] == "gzip, deflate"


async def test_a_large_compressed_body_that_expands_to_nothing_is_truncated(server: WebServer) -> None:
    empty_blocks = b"\x00\x00\x00\xff\xff" * (MAX_RECEIVED // 4)
    server.pages["/"] = Answer(b"\x78\x9c" + empty_blocks, headers={"content-encoding": "deflate"})
    page = await pages().fetch(server.url(), HERE)
    assert page.is_cut and page.text == ""


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        pytest.param("text/plain; charset=ISO-8859-1", b"Gr\xfc\xdfe", "Grüße", id="header"),
        pytest.param(
            "text/html", b'<meta charset="windows-1252">\x80', '<meta charset="windows-1252">€', id="page"
        ),
        pytest.param("text/plain", "\ufeffGrüße".encode(), "Grüße", id="utf-8"),
        pytest.param("text/plain; charset=nonsense", "ü".encode(), "ü", id="unknown"),
        pytest.param("text/plain; charset=hex", b"zz", "zz", id="no-text-codec"),
        pytest.param("text/plain", b"\xff\xfe\xfa", "\ufffd\ufffd\ufffd", id="damaged"),
    ],
)
async def test_page_text_is_decoded_with_the_charset_of_the_header_or_the_html(
    server: WebServer, kind: str, body: bytes, expected: str
) -> None:
    server.pages["/"] = Answer(body, kind)
    assert (await pages().fetch(server.url(), HERE)).text == expected


async def test_each_fetch_failure_reports_the_reason(server: WebServer) -> None:
    with pytest.raises(PageError, match="the host nowhere was not found"):
        await pages().fetch("http://nowhere/", "")
    with pytest.raises(PageError, match="contains an API key of the user"):
        await pages("sk-secret-1").fetch(server.url("/?k=sk-secret-1"), HERE)
    assert server.asked == []
    assert (await pages().fetch(server.url("/none"), HERE)).status == 404
    with pytest.raises(PageError, match="cannot be fetched"):
        await pages().fetch(f"http://{HERE}:1/", HERE)
