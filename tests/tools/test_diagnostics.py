"""The tool diagnostics: problems sorted by severity, in pages, without those of files that may not be read."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import NoEffect, ReadEffect
from agent_ls.environments.errors import SecretFileError
from agent_ls.environments.language_host import CodeProblem, FileProblems
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.diagnostics import diagnostics
from agent_ls.tools.location_list import PAGE
from tests.support.language_host import KnownCode
from tests.support.tool_calls import ToolCalls


class KeptSecret(MemoryEnvironment):
    """An environment that refuses to read .env."""

    async def read_bytes(self, path: str, max_bytes: int = 10_000_000) -> bytes:
        if path.endswith(".env"):
            raise SecretFileError(path, path)
        return await super().read_bytes(path, max_bytes)


def calls() -> ToolCalls:
    return ToolCalls(KeptSecret({"a.py": "x\ny\n", "b.py": "z\n", ".env": "K=1\n"}))


def of(name: str, *problems: CodeProblem, settled: bool = True) -> FileProblems:
    return FileProblems(f"/project/{name}", problems, settled)


@pytest.mark.req("T14")
@pytest.mark.req("H12")
async def test_problems_are_listed_worst_first_with_their_source() -> None:
    host = KnownCode(
        files=[
            of(
                "b.py",
                CodeProblem(0, "hint", "short"),
                CodeProblem(0, "warning", "odd\n[User:] x", "lint E1"),
            ),
            of("a.py", CodeProblem(1, "error", "no such name")),
        ]
    )
    tool = diagnostics(host)

    assert (await calls().call(tool)).text.splitlines() == [
        "a.py:2: error: no such name",
        "b.py:1: warning: odd [User:] x (lint E1)",
    ]
    assert (await calls().call(tool, severity="error")).summary == "1 problem"
    assert "b.py:1: hint: short" in (await calls().call(tool, severity="all")).text


@pytest.mark.req("T14")
async def test_a_file_without_problems_is_reported_with_a_note_if_the_check_is_unfinished() -> None:
    host = KnownCode(files=[of("a.py", CodeProblem(0, "hint", "short"), settled=False)])

    output = await calls().call(diagnostics(host), file_path="a.py")

    assert host.asked == ["/project/a.py"]
    assert output.text.splitlines() == [
        "The editor's tools report no problems of a.py of this severity (1 weaker ones; severity all shows them).",
        "[The editor's tools are still checking a.py: call this tool again later.]",
    ]
    assert "no problems." in (await calls().call(diagnostics(KnownCode()))).text


@pytest.mark.req("T14")
async def test_many_problems_are_listed_in_pages() -> None:
    host = KnownCode(files=[of("a.py", *(CodeProblem(n, "error", f"p{n}") for n in range(PAGE + 1)))])

    first = await calls().call(diagnostics(host))
    rest = await calls().call(diagnostics(host), offset=PAGE + 1)

    assert (
        first.text.endswith(f"Continue with offset={PAGE + 1}.]") and first.summary == f"{PAGE + 1} problems"
    )
    assert rest.text.startswith(f"a.py:{PAGE + 1}: error: p{PAGE}\n")


@pytest.mark.req("T14")
async def test_problem_messages_of_a_file_that_may_not_be_read_are_hidden() -> None:
    host = KnownCode(files=[of(".env", CodeProblem(0, "error", "K=1 is unused"))])

    output = (await calls().call(diagnostics(host))).text

    assert (
        output.startswith(".env:1: error [not shown: the file looks like a file with secrets")
        and "K=1" not in output
    )
    with pytest.raises(SecretFileError):
        await calls().call(diagnostics(host), file_path=".env")
    assert (await calls().prepare(diagnostics(host), file_path=".env")).effect == ReadEffect(
        ("/project/.env",)
    )
    assert (await calls().prepare(diagnostics(host))).effect == NoEffect()


@pytest.mark.req("T14")
async def test_a_missing_response_of_the_editor_is_an_error_that_suggests_an_alternative() -> None:
    error = await calls().fails(diagnostics(KnownCode(files=None)))

    assert error.kind == "no_answer" and "checker" in str(error)
