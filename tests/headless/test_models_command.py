"""The commands agent-ls models and keys in separate processes, and sessions that use the stored values."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import command, environment, run
from tests.support.loopback import ChatServer, GeminiServer, OpenAIResponsesServer

SECRET = "sk-secret-of-the-test"
LISTED = {
    "object": "list",
    "data": [{"id": "small"}, {"id": "qwen", "max_model_len": 32_768}, {"id": "bge-embed"}],
}


@pytest.mark.req("P5", "U10")
def test_models_lists_each_provider_or_the_reason_why_it_is_unavailable(tmp_path: Path) -> None:
    with ChatServer([]) as local, OpenAIResponsesServer([]) as openai:
        local.listed = LISTED
        environ = environment(
            tmp_path, VLLM_BASE_URL=local.base_url, OPENAI_API_KEY=SECRET, OPENAI_BASE_URL=openai.base_url
        )
        done = run("models", cwd=tmp_path, environ=environ)
        assert done.code == 0, done
        assert (
            f"✓ vllm · vLLM (this machine) · {local.base_url}\n    vllm/small\n    vllm/qwen  32,768 tokens\n"
            in done.out
        )
        assert "embed" not in done.out
        assert "✗ openai · OpenAI · " in done.out
        assert "✗ anthropic · Anthropic · no key. `agent-ls keys set anthropic`" in done.out
        assert SECRET not in done.out + done.err
        assert "authorization" not in local.requests[0].headers
        assert {request.method for request in local.requests} == {"GET"}


@pytest.mark.req("P5", "H13")
def test_models_and_exec_use_the_address_in_the_users_own_settings_file(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    with ChatServer(["I am qwen."]) as local:
        local.listed = LISTED
        own.write_text(json.dumps({"providers": {"lmstudio": {"baseUrl": local.base_url}}}))
        environ = environment(tmp_path, AGENT_LS_SETTINGS=str(own))
        listed = run("models", "lmstudio", cwd=tmp_path, environ=environ)
        assert f"{local.base_url}\n    lmstudio/small" in listed.out, listed
        words = ("exec", "--provider", "lmstudio", "--model", "qwen", "hi")
        assert "I am qwen." in run(*words, cwd=tmp_path, environ=environ).out


@pytest.mark.req("P5")
def test_a_chosen_model_is_used_by_new_sessions_until_it_is_forgotten(tmp_path: Path) -> None:
    with ChatServer(["I am qwen."]) as local:
        local.listed = LISTED
        environ = environment(tmp_path, LMSTUDIO_BASE_URL=local.base_url)
        assert run("models", "--use", "lmstudio", cwd=tmp_path, environ=environ).code == 2
        chosen = run("models", "--use", "lmstudio/qwen", cwd=tmp_path, environ=environ)
        assert "use lmstudio/qwen" in chosen.out
        done = run("exec", "--json", "hi", cwd=tmp_path, environ=environ)
        assert done.code == 0, done
        usage = done.of_kind("usage")[0]
        assert usage["contextWindowTokens"] == 32_768
        assert local.requests[-1].body["model"] == "qwen"
        assert run("models", "--forget", cwd=tmp_path, environ=environ).code == 0
        assert not (tmp_path / "state" / "choice.json").exists()


@pytest.mark.req("P5")
def test_context_size_reported_by_a_local_server_is_used_without_a_stored_default_model(
    tmp_path: Path,
) -> None:
    with ChatServer(["I am qwen."]) as local:
        local.listed = LISTED
        environ = environment(tmp_path, VLLM_BASE_URL=local.base_url)
        done = run(
            "exec", "--json", "--provider", "vllm", "--model", "qwen", "hi", cwd=tmp_path, environ=environ
        )
        assert done.code == 0, done
        assert done.of_kind("usage")[0]["contextWindowTokens"] == 32_768


@pytest.mark.req("H16")
def test_a_stored_key_is_used_by_a_session_and_never_printed(tmp_path: Path) -> None:
    with GeminiServer(["Hello."], key=SECRET) as server:
        environ = environment(tmp_path, GEMINI_BASE_URL=server.base_url)
        kept = subprocess.run(
            command("keys", "set", "gemini"), input=SECRET + "\n", cwd=tmp_path, env=environ,
            capture_output=True, text=True, timeout=240, check=True,
        )  # fmt: skip
        assert "clear text, mode 0600" in kept.stdout
        listed = run("keys", "list", cwd=tmp_path, environ=environ)
        assert listed.out.startswith("gemini")
        done = run("exec", "--json", "hi", cwd=tmp_path, environ=environ)
        assert done.code == 0, done
        assert SECRET not in kept.stdout + kept.stderr + listed.out + done.out + done.err
        assert run("keys", "remove", "gemini", cwd=tmp_path, environ=environ).code == 0
        assert run("keys", "remove", "gemini", cwd=tmp_path, environ=environ).code == 1
        assert "no keys" in run("keys", "list", cwd=tmp_path, environ=environ).out
        assert json.loads((tmp_path / "state" / "keys.json").read_text())["keys"] == {}


@pytest.mark.parametrize(
    "words", [("keys", "set", "nobody"), ("models", "nobody"), ("models", "--use", "nobody/x")]
)
def test_an_unknown_provider_is_named_with_the_known_ones_and_no_traceback(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = subprocess.run(
        command(*words), input="k\n", cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2
    assert "nobody" in done.stderr
