"""Each page is in the navigation of the site."""

from __future__ import annotations

from tests.docs.pages import ROOT, read


def test_each_page_is_in_the_navigation() -> None:
    navigation = read("mkdocs.yml")
    pages = [page.name for page in (ROOT / "docs").glob("*.md")]
    missing = [page for page in pages if f": {page}\n" not in navigation]
    assert pages and not missing, "add it below `nav` in mkdocs.yml"
