"""The changelog names each change once."""

from __future__ import annotations

import re
from collections import Counter

from tests.docs.pages import read

BEGINNING = 40  # two entries with the same first 40 characters count as the same entry


def test_no_entry_is_listed_twice() -> None:
    entries = re.findall(r"^- (.*(?:\n  .*)*)", read("docs/changelog.md"), re.MULTILINE)
    assert len(entries) > 50
    beginnings = Counter(" ".join(entry.split())[:BEGINNING] for entry in entries)
    assert [words for words, times in beginnings.items() if times > 1] == []
