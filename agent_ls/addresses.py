"""Split web addresses and URIs that others have written, which may be no addresses at all."""

from __future__ import annotations

from urllib.parse import SplitResult, urljoin, urlsplit

_NOTHING = urlsplit("")


def split_address(address: str) -> SplitResult:
    """Return the parts of an address or a URI; empty parts if it is not valid, as in `http://[x` or `http://x:99999`.

    With a backslash, as in `http://a\\@b/`, it is not valid: some programs connect to `a`, and others to `b`.
    """
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018  # raises ValueError for a port that is no number, or too large
    except ValueError:
        return _NOTHING
    return _NOTHING if "\\" in parts.netloc else parts


def join_address(base: str, reference: str) -> str:
    """Return the address that a page at `base` means by `reference`; `reference` itself if it is not valid."""
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference
