"""The digest that is stored with each decision of the user, beside the text that was displayed for it."""

from __future__ import annotations

import hashlib


def digest_shown(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
