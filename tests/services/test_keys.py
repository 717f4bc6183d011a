from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.services.models.default_model import (
    DefaultModel,
    delete_default_model,
    read_default_model,
    store_default_model,
)
from agent_ls.services.models.key_store import KeyStore, load_credentials

SECRET = "sk-secret-of-the-test"


class FakeRing:
    """A keyring in memory. With `is_locked` it refuses every call."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, name: str) -> str | None:
        self._check()
        return self.held.get((service, name))

    def set_password(self, service: str, name: str, secret: str) -> None:
        self._check()
        self.held[service, name] = secret

    def delete_password(self, service: str, name: str) -> None:
        self._check()
        del self.held[service, name]

    def _check(self) -> None:
        if self.is_locked:
            raise OSError("the keyring is locked")


@pytest.mark.req("H16")
def test_without_a_keyring_a_key_is_stored_in_a_private_file_labelled_as_clear_text(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "state")
    kept = store.set("openai", f"  {SECRET}\n")
    path = tmp_path / "state" / "keys.json"
    assert kept.location == f"{path} (clear text, mode 0600)"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "clear text" in json.loads(path.read_text())["about"]
    assert [p.name for p in path.parent.iterdir()] == ["keys.json"]
    assert store.secrets() == {"openai": SECRET}
    assert SECRET not in repr(store.list_keys())
    assert store.remove("openai")
    assert not store.remove("openai")
    assert (store.secrets(), SECRET in path.read_text()) == ({}, False)


@pytest.mark.req("H16")
def test_with_a_keyring_the_file_has_only_the_providers_name(tmp_path: Path) -> None:
    ring = FakeRing()
    store = KeyStore(tmp_path, ring)
    assert store.set("openai", SECRET).location == "the system's keyring"
    assert ring.held == {("agent-ls", "openai"): SECRET}
    assert SECRET not in (tmp_path / "keys.json").read_text()
    assert store.secrets() == {"openai": SECRET}
    store.remove("openai")
    assert (ring.held, store.list_keys()) == ({}, ())


@pytest.mark.req("H16")
def test_a_key_refused_by_the_keyring_is_stored_in_the_file(tmp_path: Path) -> None:
    ring = FakeRing()
    store = KeyStore(tmp_path, ring)
    store.set("gemini", "other-key")
    ring.is_locked = True
    assert store.secrets() == {}
    assert "clear text" in store.set("openai", SECRET).location
    assert store.secrets() == {"openai": SECRET}
    assert {key.provider for key in store.list_keys()} == {"openai", "gemini"}


@pytest.mark.parametrize(
    ("provider", "secret"), [("nobody", SECRET), ("openai", " "), ("openai", "two words"), ("openai", "ü")]
)
def test_an_impossible_key_is_refused_without_printing_it(tmp_path: Path, provider: str, secret: str) -> None:
    with pytest.raises(BadChoiceError) as raised:
        KeyStore(tmp_path).set(provider, secret)
    assert SECRET not in str(raised.value)
    assert not (tmp_path / "keys.json").exists()


@pytest.mark.parametrize(
    "content", ["", "[]", '{"keys": 1, "keyring": {}}', '{"keys": {"openai": 3}}', "\ud800"]
)
def test_a_damaged_key_file_counts_as_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / "keys.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    assert KeyStore(tmp_path).secrets() == {}


def test_an_unwritable_key_folder_is_reported_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(AppError, match="cannot be stored"):
        KeyStore(tmp_path / "state").set("openai", SECRET)


@pytest.mark.req("H16", "U12")
def test_a_key_in_the_environment_has_priority_over_a_stored_key(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    store.set("openai", "kept")
    store.set("gemini", "kept-too")
    found = load_credentials({"OPENAI_API_KEY": "of-the-environment"}, tmp_path)
    assert (found.secret("openai"), found.secret("gemini")) == ("of-the-environment", "kept-too")
    assert "kept-too" in found.known_secrets()


@pytest.mark.req("P5")
def test_a_remembered_model_is_the_default_until_it_is_forgotten(tmp_path: Path) -> None:
    choice = DefaultModel("ollama", "qwen3", 32_768)
    store_default_model(choice, tmp_path)
    assert read_default_model(tmp_path) == choice
    assert (tmp_path / "choice.json").stat().st_mode & 0o777 == 0o600
    delete_default_model(tmp_path)
    delete_default_model(tmp_path)
    assert read_default_model(tmp_path) == DefaultModel()
    (tmp_path / "choice.json").write_text('{"provider": 1}')
    assert read_default_model(tmp_path) == DefaultModel()
