"""Secrets that a program declares, or that commands do not get: neither the model, the log nor an export has them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import agent_ls
from agent_ls.environments.local.environ import hidden_values
from agent_ls.library.secrets import RedactingHandler
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("T10", "X9")

DECLARED = "tok-declared-4711"
HIDDEN = "my-key-abcdefghijklmn"
PROVIDER = "sk-ant-api03-abcdefghijklmnopqrstuvwx"


async def test_secrets_in_an_exception_of_a_tool_reach_neither_model_nor_log_nor_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_API_KEY", HIDDEN)

    @agent_ls.tool
    def broken() -> str:
        """Fail."""
        raise ValueError(f"{DECLARED} {HIDDEN} {PROVIDER}")

    model = agent_ls.ScriptedModel(("broken", {}), "Done.")
    with caplog.at_level(logging.DEBUG, "agent_ls"):
        async with agent_ls.open_session(
            tmp_path,
            provider="test",
            adapters={"test": model},
            tools=[broken],
            state_dir=tmp_path / "state",
            trusted=True,
            secrets=[DECLARED],
        ) as session:
            await session.ask("go")
            exports = [await session.export("jsonl"), await session.export("markdown", redact=True)]
    logs = [path.read_text() for path in (tmp_path / "state").rglob("*.jsonl")]
    for said in (*exports, *logs, str(model.requests[-1].messages), caplog.text):
        assert not [value for value in (DECLARED, HIDDEN, PROVIDER) if value in said]
    (failure,) = [record for record in caplog.records if record.name == "agent_ls.own_code"]
    assert "ValueError" in (failure.exc_text or "") and not failure.exc_info


@pytest.mark.req("T10", "X5")
async def test_a_variable_that_the_user_keeps_reaches_commands_and_tools_though_its_value_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library took the variables away whose values it redacts."""
    monkeypatch.setenv("DEPLOY_TOKEN", HIDDEN)
    monkeypatch.setenv("KEPT_TOKEN", HIDDEN[::-1])
    folder, ran = tmp_path / "project", tmp_path / "ran"
    (folder / ".agent-ls").mkdir(parents=True)
    line = f'printf "%s %s" "$DEPLOY_TOKEN" "$KEPT_TOKEN" >> {ran}'
    (folder / "show.sh").write_text(line)
    (folder / ".agent-ls" / "tools.yaml").write_text(
        "tools: [{name: deploy, description: d, category: write, cmd: sh, args: [show.sh], parameters: {},\n"
        '   env: {DEPLOY_TOKEN: "${DEPLOY_TOKEN}"}}]\n'
    )
    model = agent_ls.ScriptedModel(("deploy", {}), ("shell", {"command": "sh show.sh"}), "Done.")
    async with agent_ls.open_session(
        folder, provider="test", adapters={"test": model}, trusted=True, stored=False, mode="full",
        approve=lambda request: True, settings={"commandEnvironment": {"keep": ["KEPT_TOKEN"]}},
    ) as session:  # fmt: skip
        await session.ask("go")
    of_tool, of_command = f"{HIDDEN} ", f" {HIDDEN[::-1]}"
    assert ran.read_text() == of_tool + of_command


async def test_a_log_record_keeps_an_exception_without_a_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        raise ValueError("plain")
    except ValueError:
        logging.getLogger("agent_ls.library").exception("failed: %s", "x")
    assert caplog.records[-1].exc_info and caplog.records[-1].args == ("x",)


def test_a_record_whose_arguments_do_not_fit_stops_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    record = logging.LogRecord("agent_ls", logging.ERROR, "f", 1, "%d", ("x",), None)
    RedactingHandler().handle(record)
    assert record.args == ("x",)


@pytest.mark.parametrize("secret", ["hunter", "4711", "a1!", ""])
def test_a_secret_that_is_a_word_or_a_number_is_refused_and_not_named(tmp_path: Path, secret: str) -> None:
    with pytest.raises(agent_ls.AppError) as error:
        agent_ls.open_session(tmp_path, secrets=[secret])
    assert not secret or secret not in str(error.value)


async def test_a_short_secret_is_hidden_where_it_is_a_word_of_its_own(tmp_path: Path) -> None:
    @agent_ls.tool
    def look() -> str:
        """Look."""
        return "hunter2, xhunter2x\nhunter2"

    model = FakeProvider([call("look"), [text("It is ", "hunt", "er2", ".")]])
    async with agent_ls.open_session(
        **options(tmp_path, model), tools=[look], secrets=["hunter2"]
    ) as session:
        events = [event async for event in session.run("go")]
        exported = await session.export("jsonl")
    shown = [str(event) for event in events]
    assert any("[secret removed], xhunter2x" in event for event in shown)
    assert not any("It is hunter2" in event for event in shown)
    assert "xhunter2x" in str(model.requests[-1].messages)
    assert all("hunter2" not in it.replace("xhunter2x", "") for it in (*shown, exported, str(model.requests)))


@pytest.mark.parametrize(
    ("name", "value", "is_hidden"),
    [
        ("MY_TOKEN", "abcdefgh12345678", True),
        ("MY_TOKEN", "abcdefgh", False),
        ("MY_TOKEN", "aaaaaaaaaaaaaaaaaaaa", False),
        ("MY_TOKEN", "/run/secrets/my_token_file", False),
        ("MY_TOKEN", "ask the operator for it", False),
        ("MY_NAME", "abcdefgh12345678", False),
    ],
)
def test_only_long_values_of_variables_with_secret_names_are_hidden(
    name: str, value: str, is_hidden: bool
) -> None:
    assert list(hidden_values({name: value})) == [value] * is_hidden
