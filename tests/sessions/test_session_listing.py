"""A page of the session list reads only the summaries that it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.services.settings.model import Settings
from agent_ls.sessions.stored.listing import SessionListing
from agent_ls.store.layout import Layout, StoredSummary
from agent_ls.store.log import Header
from agent_ls.store.sessions import SessionStore

COUNT = 20


class CountingLayout(Layout):
    """A layout that counts the summaries that are read."""

    asked = 0

    def summary(self, folder: Path) -> StoredSummary | None:
        self.asked += 1
        return super().summary(folder)


@pytest.fixture
def layout(tmp_path: Path) -> CountingLayout:
    return CountingLayout(tmp_path / "state")


@pytest.fixture
def listing(tmp_path: Path, layout: CountingLayout) -> SessionListing:
    store = SessionStore(layout.root, on_failure=lambda _, error: pytest.fail(str(error)))
    store.layout = layout
    for number in range(COUNT):
        header = Header(
            f"s-{number}", "2026-01-01T00:00:00.000Z", str(tmp_path), "fake", "m", f"title {number}"
        )
        store.create(header).close()
    return SessionListing(store, lambda session_id: None, Settings, lambda header: "")


@pytest.mark.req("R7")
async def test_listing_a_page_of_sessions_reads_at_most_one_summary_beyond_the_page(
    listing: SessionListing, layout: CountingLayout
) -> None:
    seen: list[str] = []
    cursor = None
    for _ in range(COUNT // 5):
        layout.asked = 0
        page, cursor = await listing.page(None, cursor, 5, running=False)
        seen += [summary.id for summary in page]
        assert layout.asked <= 6
    assert sorted(seen) == sorted(f"s-{number}" for number in range(COUNT))
    assert cursor is None


@pytest.mark.req("R7")
async def test_listing_running_sessions_reads_no_summaries_of_stored_sessions(
    listing: SessionListing, layout: CountingLayout
) -> None:
    assert await listing.page(None, None, 5, running=True) == ([], None)
    assert layout.asked == 0


@pytest.mark.req("R7")
async def test_a_query_searches_titles_beyond_the_first_page(listing: SessionListing) -> None:
    page, cursor = await listing.page(None, None, 2, "TITLE 1", running=False)
    more, end = await listing.page(None, cursor, 50, "TITLE 1", running=False)
    assert len(page) == 2 and len(more) == 9 and end is None
