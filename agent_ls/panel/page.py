"""The files of the page, which are built from `vscode-extension/src`, and the headers of each response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "page"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".ttf": "font/ttf",
    ".svg": "image/svg+xml",
}

NAMES = ("index.html", "panel.js", "panel.css", "codicon.ttf", "icon.svg")


class PageMissingError(Exception):
    """The page was not built."""


@dataclass(frozen=True, slots=True)
class File:
    content_type: str
    body: bytes


def load_page() -> Mapping[str, File]:
    """Return the files of the page by URL path. No other file is ever read.

    Raises:
        PageMissingError: a file is missing.
    """
    try:
        found = {f"/{name}": File(_TYPES[Path(name).suffix], (FOLDER / name).read_bytes()) for name in NAMES}
    except OSError as error:
        raise PageMissingError(
            "the page of the panel is not built here: run `make panel-page` in the repository, or install a release"
        ) from error
    return {"/": found["/index.html"], **found}


def message_page(text: str, *, leads_on: bool = False) -> File:
    """Return a page with one sentence. If `leads_on`, the page makes the browser open the panel.

    When this page opens the panel, the request is same-site, so that the browser sends the new cookie.
    """
    refresh = '<meta http-equiv="refresh" content="0; url=/">' if leads_on else ""
    html = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{refresh}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>agent-ls</title>'
        '<link rel="icon" href="data:,"></head>'  # without an icon, browsers request /favicon.ico
        f"<body><p>{text}</p></body></html>\n"
    )
    return File(_TYPES[".html"], html.encode())
