from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from agent_ls.store.trust import TrustStore, owner_of

pytestmark = pytest.mark.req("X8")
NOW = "2026-01-02T03:04:05.678Z"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state")


def test_a_trust_decision_applies_to_every_path_of_the_folder_but_not_to_parents_or_subfolders(
    store: TrustStore, here: Path, tmp_path: Path
) -> None:
    store.store_decision(str(here), "trusted", NOW)
    (tmp_path / "link").symlink_to(here)
    (here / "below").mkdir()
    assert store.read_decision(str(tmp_path / "link")) == "trusted"
    assert store.read_decision(str(here / ".." / "here")) == "trusted"
    assert store.read_decision(str(tmp_path)) is None and store.read_decision(str(here / "below")) is None
    assert TrustStore(tmp_path / "state").read_decision(str(here)) == "trusted"


def test_the_last_decision_applies_until_it_is_removed(store: TrustStore, here: Path) -> None:
    store.store_decision(str(here), "trusted", NOW)
    store.store_decision(str(here), "restricted", NOW)
    assert store.read_decision(str(here)) == "restricted" and len(store.folders()) == 1
    assert store.delete_decision(str(here)) and not store.delete_decision(str(here))
    assert store.read_decision(str(here)) is None


def test_a_decision_does_not_apply_after_the_folder_has_a_new_owner(
    store: TrustStore, here: Path, tmp_path: Path
) -> None:
    store.store_decision(str(here), "trusted", NOW)
    path = tmp_path / "state" / "trust.json"
    kept = json.loads(path.read_text())
    assert kept["trust"][0]["owner"] == owner_of(str(here)) == str(os.getuid())
    kept["trust"][0]["owner"] = str(os.getuid() + 1)
    path.write_text(json.dumps(kept))
    assert store.read_decision(str(here)) is None
    store.store_decision(str(here), "trusted", NOW)
    assert store.read_decision(str(here)) == "trusted" and len(store.folders()) == 1


def test_a_deleted_folder_is_not_trusted_and_cannot_be_trusted(store: TrustStore, here: Path) -> None:
    store.store_decision(str(here), "trusted", NOW)
    here.rmdir()
    assert store.read_decision(str(here)) is None
    with pytest.raises(FileNotFoundError):
        store.store_decision(str(here), "trusted", NOW)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 2, "trust": []}',
        '{"version": 1, "trust": {}}',
        '{"version": 1, "trust": [null, 1, "x", {}]}',
        '{"version": 1, "trust": [{"path": "HERE", "owner": "OWNER", "trust": "yes", "decided": ""}]}',
        '{"version": 1, "trust": [{"path": "HERE", "owner": null, "trust": "trusted", "decided": ""}]}',
    ],
)
def test_a_damaged_trust_file_trusts_no_folder(
    store: TrustStore, here: Path, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "state" / "trust.json"
    path.parent.mkdir()
    path.write_text(text.replace("HERE", str(here)).replace("OWNER", str(os.getuid())))
    assert store.read_decision(str(here)) is None
    store.store_decision(str(here), "trusted", NOW)
    assert store.read_decision(str(here)) == "trusted"


def test_the_trust_file_is_private_and_outside_of_repositories(
    store: TrustStore, here: Path, tmp_path: Path
) -> None:
    store.store_decision(str(here), "trusted", NOW)
    path = tmp_path / "state" / "trust.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list(here.iterdir())
