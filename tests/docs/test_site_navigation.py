"""Each page is in the navigation of the site."""

from __future__ import annotations

import pytest

from tests.docs.pages import ROOT, read

PAGES = sorted(page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_page_is_in_the_navigation(page: str) -> None:
    assert f": {page}\n" in read("mkdocs.yml"), "add it below `nav` in mkdocs.yml"
