from __future__ import annotations

import pytest

from agent_ls.llm.credentials import Credentials, key_variable

ENVIRON = {
    "ANTHROPIC_API_KEY": " sk-ant-secret\n",
    "OPENAI_API_KEY": "sk-openai-secret",
    "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
    "OPENAI_ORG_ID": "org-1",
    "OPENAI_PROJECT_ID": "proj-1",
    "PATH": "/bin",
}


@pytest.mark.req("U12")
def test_keys_urls_and_headers_of_providers_are_read_from_environment_variables() -> None:
    found = Credentials.from_environment(ENVIRON)
    assert found.providers == ("anthropic", "openai")
    assert found.secret("anthropic") == "sk-ant-secret"
    assert found.base_url("openai") == "http://127.0.0.1:1/v1"
    assert found.base_url("anthropic") == ""
    assert found.headers("openai") == {"OpenAI-Organization": "org-1", "OpenAI-Project": "proj-1"}
    assert found.headers("anthropic") == {}


@pytest.mark.req("U12")
@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ()),
        ({"ANTHROPIC_API_KEY": "  "}, ()),
        ({"OPENAI_API_KEY": "k"}, ("openai",)),
        ({"GOOGLE_API_KEY": "g"}, ("gemini",)),
    ],
)
def test_only_providers_with_a_key_are_available(environ: dict[str, str], expected: tuple[str, ...]) -> None:
    assert Credentials.from_environment(environ).providers == expected


def test_the_google_key_is_used_only_if_no_gemini_key_is_set() -> None:
    assert Credentials.from_environment({"GOOGLE_API_KEY": "g"}).secret("gemini") == "g"
    assert (
        Credentials.from_environment({"GOOGLE_API_KEY": "g", "GEMINI_API_KEY": "x"}).secret("gemini") == "x"
    )


def test_credentials_are_read_from_the_process_environment_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-here")
    assert Credentials.from_environment().secret("openai") == "from-here"


@pytest.mark.req("H16")
def test_a_credential_set_in_memory_is_used_until_removed_and_stays_a_known_secret() -> None:
    held = Credentials()
    held.set("anthropic", " first ")
    held.set("anthropic", "second")
    held.set("local", "third")
    assert [held.secret(name) for name in held.providers] == ["second", "third"]
    held.set("anthropic", None)
    held.set("local", "")
    assert list(held.providers) == []
    assert held.secret("anthropic") == ""
    assert held.known_secrets() == {"first", "second", "third"}


@pytest.mark.parametrize("show", [repr, str, "{!r}".format, "%r".__mod__])
def test_text_form_of_credentials_contains_no_secret(show: object) -> None:
    assert callable(show)
    text = show(Credentials.from_environment(ENVIRON))
    assert "secret" not in text
    assert "anthropic" in text


def test_key_variable_returns_the_environment_variable_of_a_provider() -> None:
    assert key_variable("anthropic") == "ANTHROPIC_API_KEY"
    assert key_variable("gemini") == "GEMINI_API_KEY"
    assert key_variable("nobody") == ""
