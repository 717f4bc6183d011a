from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent_ls.environments.effects import FetchEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.base import ToolError, ToolOutput
from agent_ls.tools.html_text import html_to_text
from agent_ls.tools.web_fetch import PAGE_CHARS, WebFetchArguments, WebPage, web_fetch
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("P4", "T13")
URL = "https://docs.example/guide"

HTML = """<!doctype html><html><head><title>The guide</title><style>p {color: red}</style></head>
<body><nav><a href="/">Home</a></nav><h1>Begin</h1><script>alert("x < 1")</script>
<p>Read   <a href="more.html#x">more</a>
and <a href="#top">up</a>, &lt;b&gt; &amp; so on.</p>
<ul><li>one<li>two</ul><pre>  def f():
    return 1</pre><table><tr><th>a<td>b</table><img alt="A cat" src=c.png><br>end</body></html>"""


def test_html_to_text_returns_only_visible_text() -> None:
    assert html_to_text(HTML, URL).split("\n\n") == [
        "The guide",
        "# Begin",
        "Read more (https://docs.example/more.html#x) and up, <b> & so on.",
        "- one\n- two",
        "  def f():\n    return 1",
        "| a | b",
        "[image: A cat]\nend",
    ]


@pytest.mark.parametrize(
    "broken", ["<p", "</div></div>", "<script>x", "<a href='http://[x'>y</a>", "&#xZZ; <![CDATA[ x"]
)
def test_html_to_text_returns_the_readable_parts_of_invalid_html(broken: str) -> None:
    assert html_to_text(f"<p>before</p>{broken}", URL).startswith("before")


@pytest.mark.parametrize("part", ["<!--", "<a ", "<b>x", "</x", "<svg>", "&#1;<"])
def test_extracting_the_text_of_a_page_stops_at_a_time_limit(part: str) -> None:
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        html_to_text(part * 1_000, URL, check)


class Pages:
    """A WebFetcher that returns one fixed page, and records the requests."""

    def __init__(self, page: WebPage, private: str = "") -> None:
        self.page, self.private = page, private
        self.asked: list[tuple[str, str]] = []

    def private_address(self, url: str) -> str:
        return self.private

    async def fetch(self, url: str, private_address: str) -> WebPage:
        self.asked.append((url, private_address))
        return self.page


async def fetched(page: WebPage, **arguments: object) -> ToolOutput:
    return await ToolCalls(MemoryEnvironment()).call(web_fetch(Pages(page)), url=URL, **arguments)


async def test_web_fetch_preparation_sends_no_request_and_puts_the_url_in_the_effect() -> None:
    pages = Pages(WebPage(URL, 200), private="10.0.0.1")
    prepared = await ToolCalls(MemoryEnvironment()).prepare(web_fetch(pages), url=URL)
    assert prepared.effect == FetchEffect(URL, "10.0.0.1")
    assert pages.asked == []
    await prepared.run()
    assert pages.asked == [(URL, "10.0.0.1")]


async def test_fetch_when_it_is_html_then_text_is_reported_and_source_on_request() -> None:
    page = WebPage(URL, 200, "text/html", "<h1>Hello</h1>")
    assert (await fetched(page)).text == f"{URL} (200, text/html)\n\n# Hello"
    assert (await fetched(page, raw=True)).text.endswith("\n\n<h1>Hello</h1>")
    assert (await fetched(WebPage(URL, 200, "application/json", '{"a": "<b>"}'))).text.endswith(
        '{"a": "<b>"}'
    )


async def test_web_fetch_returns_a_long_page_in_parts_by_offset() -> None:
    page = WebPage(URL, 200, "text/plain", "a" * PAGE_CHARS + "the rest", is_cut=True)
    first = await fetched(page)
    assert first.text.endswith(f"[8 more characters: continue with offset {PAGE_CHARS}.]")
    second = await fetched(page, offset=PAGE_CHARS)
    assert "the rest" in second.text and "end is missing" in second.text
    with pytest.raises(ToolError, match="past its end"):
        await fetched(page, offset=PAGE_CHARS + 8)


async def test_fetch_when_the_server_refuses_or_redirects_then_that_is_reported() -> None:
    missing = await fetched(WebPage(URL, 404, "text/plain", "No such page."))
    assert missing.is_error and "No such page." in missing.text and "404" in missing.summary
    elsewhere = await fetched(WebPage(URL, 302, leads_to="https://other.example/"))
    assert "another host: https://other.example/" in elsewhere.text and not elsewhere.is_error


@pytest.mark.parametrize(
    "url",
    [
        "docs.example", "file:///etc/passwd", "ftp://docs.example/", "https://", "https://:80/", "http://a:b/",
        "https://me:secret@docs.example/", "https://docs.example/a b", "https://docs.example/\u202e", "http://[x/",
        "https://docs.example/" + "a" * 2000,
    ],
)  # fmt: skip
def test_fetch_when_the_url_is_invalid_then_it_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        WebFetchArguments(url=url)


def test_web_fetch_is_a_read_tool_that_never_starts_early() -> None:
    tool = web_fetch(Pages(WebPage(URL, 200)))
    assert (tool.category, tool.starts_early) == ("read", False)
    assert tool.summarize(WebFetchArguments(url=URL)) == URL
