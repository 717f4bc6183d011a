"""The contract of ExecutionEnvironment (see environments.base), as tests for your own environment.

`pytest --agent-ls-environment=MODULE:NAME` runs them. Or your test file imports this module by
`from agent_ls.testing.environment import *`, and defines `FACTORIES` with one EnvironmentFactory for each environment
to test. Tests for abilities that an environment does not have are skipped. See docs/adding-an-environment.md.

Long because it is one contract: authors of environments read and run only this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import pytest

from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    DirEntry,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    GrepOptions,
)
from agent_ls.environments.errors import (
    AccessDeniedError,
    CommitError,
    EnvError,
    FileTooLargeError,
    InputRefusedError,
    InvalidPatternError,
    NotAFileError,
    NotAFolderError,
    PathNotFoundError,
    ProcessStartError,
    StaleFileError,
    UnsupportedError,
)
from agent_ls.testing.environment_factory import (
    EnvironmentFactory as EnvironmentFactory,
    absolute_path,
    chosen_factories,
    normalize_newlines,
    open_environment,
    shell_commands,
    wait_for_output,
)

pytestmark = [pytest.mark.anyio]

Open: TypeAlias = Callable[[Mapping[str, str | bytes]], AbstractAsyncContextManager[ExecutionEnvironment]]
Test = TypeVar("Test", bound=Callable[..., object])

_ASKED_OF: dict[str, tuple[Callable[[EnvironmentFactory], bool], str]] = {}


def only_for(fits: Callable[[EnvironmentFactory], bool], other: str) -> Callable[[Test], Test]:
    """Limit a test to the factories for which `fits` returns True. `other` is what the rest does."""

    def mark(test: Test) -> Test:
        _ASKED_OF[test.__name__] = fits, other
        return test

    return mark


writers = only_for(lambda factory: factory.writes, "writes no files")
runners = only_for(lambda factory: factory.runs_commands, "runs no commands")
starters = only_for(lambda factory: factory.starts_processes, "starts no background processes")
without_commands = only_for(lambda factory: not factory.runs_commands, "runs commands")
without_processes = only_for(lambda factory: not factory.starts_processes, "starts background processes")
refusing_writes = only_for(lambda factory: not factory.writes, "writes files")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize each test with the FACTORIES of the importing test file, or of the option. pytest calls this hook."""
    if "factory" in metafunc.fixturenames:
        fits, other = _ASKED_OF.get(metafunc.function.__name__, (lambda _: True, ""))
        asked: Sequence[EnvironmentFactory] = (
            getattr(metafunc.module, "FACTORIES", None) or chosen_factories()
        )
        fitting: Sequence[object] = [it for it in asked if fits(it)]
        left_out = pytest.mark.skip(reason=f"every environment here {other}")
        metafunc.parametrize("factory", fitting or [pytest.param(asked[0], marks=left_out)], ids=str)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def open_env(factory: EnvironmentFactory, tmp_path: Path) -> Open:
    return partial(open_environment, factory, tmp_path / "project")


ATTRIBUTION = Attribution()


@contextmanager
def _refused(error: type[EnvError], *case: object) -> Iterator[None]:
    """Require that the `with` block raises `error`. The failure message names `case`, for a test with many cases."""
    try:
        yield
    except error:
        return
    except Exception as other:
        other.add_note(f"case: {case}")
        raise
    pytest.fail(f"no {error.__name__} in the case {case}")


# --- facts ----------------------------------------------------------------------------------------------------


async def test_environment_facts_are_reported(open_env: Open, tmp_path: Path) -> None:
    async with open_env({}) as env:
        assert env.working_directory() == str(tmp_path / "project")
        assert env.platform() in ("linux", "darwin", "windows", "wasm")
        assert env.os_version()


async def test_cleanup_called_twice_is_quiet(open_env: Open) -> None:
    async with open_env({}) as env:
        await env.cleanup()


# --- reading --------------------------------------------------------------------------------------------------


async def test_reading_a_file_by_any_spelling_gives_its_bytes(open_env: Open) -> None:
    async with open_env({"a/b.txt": b"one\r\n\xff"}) as env:
        for spelling in ("a/b.txt", "./a/b.txt", "a/../a/b.txt", f"{env.working_directory()}/a/b.txt"):
            assert await env.read_bytes(spelling) == b"one\r\n\xff", spelling


UNREADABLE: Sequence[tuple[str, int, type[EnvError]]] = [
    ("missing.txt", 10, PathNotFoundError),
    ("a/b.txt/c", 10, PathNotFoundError),
    ("nul\0.txt", 10, PathNotFoundError),
    ("a", 10, NotAFileError),
    ("a/b.txt", 3, FileTooLargeError),
]


async def test_reading_an_unreadable_path_says_why(open_env: Open) -> None:
    async with open_env({"a/b.txt": "1234"}) as env:
        for path, max_bytes, error in UNREADABLE:
            with _refused(error, path, max_bytes):
                await env.read_bytes(path, max_bytes)


async def test_a_file_as_large_as_the_limit_is_read(open_env: Open) -> None:
    async with open_env({"a.txt": "1234"}) as env:
        assert await env.read_bytes("a.txt", 4) == b"1234"


EXISTENCE = {".": True, "a": True, "a/b.txt": True, "a/c.txt": False, "a/b.txt/c": False, "\0": False}


async def test_existence_of_files_and_folders_is_reported(open_env: Open) -> None:
    async with open_env({"a/b.txt": ""}) as env:
        assert {path: await env.file_exists(path) for path in EXISTENCE} == EXISTENCE


TREE = {"b/z.txt": "12", "b/a/deep.txt": "1", "a.txt": "123", ".hidden": "", "c/d/e/f.txt": ""}


LISTINGS: Sequence[tuple[str, int, Sequence[tuple[str, int | None]]]] = [
    (".", 1, [(".hidden", 0), ("a.txt", 3), ("b", None), ("c", None)]),
    ("b", 1, [("a", None), ("z.txt", 2)]),
    ("b", 2, [("a", None), ("a/deep.txt", 1), ("z.txt", 2)]),
    ("c", 2, [("d", None), ("d/e", None)]),
    ("c/", 9, [("d", None), ("d/e", None), ("d/e/f.txt", 0)]),
]


async def test_listing_a_folder_gives_entries_by_name_and_depth(open_env: Open) -> None:
    async with open_env(TREE) as env:
        for path, depth, expected in LISTINGS:
            found = list(await env.list_directory(path, depth))
            assert found == [DirEntry(name, size is None, size) for name, size in expected], (path, depth)


async def test_listing_a_file_or_missing_folder_is_refused(open_env: Open) -> None:
    async with open_env(TREE) as env:
        with pytest.raises(PathNotFoundError):
            await env.list_directory("missing")
        with pytest.raises(NotAFolderError):
            await env.list_directory("a.txt")


# --- committing -----------------------------------------------------------------------------------------------


@writers
async def test_a_commit_creates_changes_and_deletes_and_answers_in_order(open_env: Open) -> None:
    async with open_env({"old.txt": "old", "change.txt": "1"}) as env:
        states = await env.commit(
            [
                FileWrite("old.txt", None, b"old"),
                FileWrite("new/deep/file.txt", b"new", None),
                FileWrite("change.txt", b"2", b"1"),
            ],
            ATTRIBUTION,
        )
        assert list(states) == [
            FileState(absolute_path(env, "old.txt"), b"old", None),
            FileState(absolute_path(env, "new/deep/file.txt"), None, b"new"),
            FileState(absolute_path(env, "change.txt"), b"1", b"2"),
        ]
        assert not await env.file_exists("old.txt")
        assert await env.read_bytes("new/deep/file.txt") == b"new"
        assert await env.read_bytes("change.txt") == b"2"


@writers
async def test_an_empty_commit_does_nothing(open_env: Open) -> None:
    async with open_env({"a": "1"}) as env:
        assert list(await env.commit([], ATTRIBUTION)) == []


@writers
async def test_a_commit_that_changes_nothing_succeeds(open_env: Open) -> None:
    async with open_env({"a": "1", "b": "2"}) as env:
        states = await env.commit([FileWrite("a", b"1", b"1"), FileWrite("missing", None, None)], ATTRIBUTION)
        assert [(state.before, state.after) for state in states] == [(b"1", b"1"), (None, None)]
        assert not await env.file_exists("missing")


FIRST = FileWrite("first.txt", b"changed", b"first")
SECOND = FileWrite("made/second.txt", b"made", None)


BAD_WRITES: Sequence[tuple[FileWrite, type[EnvError]]] = [
    (FileWrite("there.txt", b"x", b"other"), StaleFileError),
    (FileWrite("there.txt", b"x", None), StaleFileError),
    (FileWrite("missing.txt", b"x", b"there"), StaleFileError),
    (FileWrite("there.txt", None, b"other"), StaleFileError),
    (FileWrite("missing.txt", None, b"there"), StaleFileError),
    (FileWrite("there.txt", None, None), StaleFileError),
    (FileWrite("folder", b"x", None), NotAFileError),
    (FileWrite("folder", None, b""), NotAFileError),
    (FileWrite("there.txt/below", b"x", None), NotAFolderError),
    (FileWrite("there.txt/far/below", b"x", None), NotAFolderError),
    (FileWrite("./first.txt", b"again", b"first"), CommitError),
]


@writers
async def test_a_commit_with_one_bad_file_changes_none(open_env: Open) -> None:
    async with open_env({"first.txt": "first", "there.txt": "there", "folder/x": ""}) as env:
        before = await env.list_directory(".", 9)
        for bad, error in BAD_WRITES:
            with _refused(error, bad):
                await env.commit([FIRST, SECOND, bad], ATTRIBUTION)
            assert await env.list_directory(".", 9) == before, bad
            assert await env.read_bytes("first.txt") == b"first", bad
            assert await env.read_bytes("there.txt") == b"there", bad


@refusing_writes
async def test_a_read_only_environment_refuses_every_write(open_env: Open) -> None:
    async with open_env({"first.txt": "first"}) as env:
        assert list(await env.commit([], ATTRIBUTION)) == []
        with pytest.raises(AccessDeniedError):
            await env.commit([FIRST], ATTRIBUTION)
        assert await env.read_bytes("first.txt") == b"first"


# --- searching ------------------------------------------------------------------------------------------------

SEARCHED: dict[str, str | bytes] = {
    ".gitignore": "*.log\nbuild/\n!keep.log\n/only_here.py\n",
    "src/app.py": "import os\nclass App:\n    name = 'app'\n    def run(self):\n        return os.name\n",
    "src/app_test.py": "from app import App\nApp()\n",
    "src/web/app.ts": "const app = new App(a.b);\n",
    "src/web/.ignore": "secret.ts\n",
    "src/web/secret.ts": "App\n",
    "src/sub/only_here.py": "App sub\n",
    "only_here.py": "App top\n",
    "build/app.py": "App build\n",
    "trace.log": "App log\n",
    "keep.log": "App kept\n",
    ".github/ci.yml": "App ci\n",
    ".git/config": "App git\n",
    "data.bin": b"App\0App\n",
    "crlf.txt": "App\r\nother\r\n",
    "latin.txt": b"App \xe9\n",
    "utf16.txt": "App wide\n".encode("utf-16"),
}

IN_APP = [(".github/ci.yml", 1), ("crlf.txt", 1), ("keep.log", 1), ("latin.txt", 1), ("src/app.py", 2)]
IN_SRC = [("src/app_test.py", 1), ("src/app_test.py", 2), ("src/sub/only_here.py", 1), ("src/web/app.ts", 1)]


FOUND_BY_GREP: Sequence[tuple[str, str, GrepOptions, list[tuple[str, int]]]] = [
    ("App", ".", GrepOptions(), [*IN_APP, *IN_SRC, ("utf16.txt", 1)]),
    ("^App$", ".", GrepOptions(), [("crlf.txt", 1)]),
    (r"\bclass\s+\w+:", "src", GrepOptions(), [("src/app.py", 2)]),
    ("CLASS", "src", GrepOptions(), []),
    ("CLASS", "src", GrepOptions(case_insensitive=True), [("src/app.py", 2)]),
    ("App(a.b)", "src", GrepOptions(literal=True), [("src/web/app.ts", 1)]),
    ("a.b", "src/web", GrepOptions(literal=True, case_insensitive=True), [("src/web/app.ts", 1)]),
    ("App", ".", GrepOptions(glob_filter="*.ts"), [("src/web/app.ts", 1)]),
    ("App", ".", GrepOptions(glob_filter="*.{ts,yml}"), [(".github/ci.yml", 1), ("src/web/app.ts", 1)]),
    ("App", ".", GrepOptions(glob_filter="src/**/*.ts"), [("src/web/app.ts", 1)]),
    ("App", "src", GrepOptions(glob_filter="web/*"), [("src/web/app.ts", 1)]),
    ("App", "src", GrepOptions(glob_filter="!*.py"), [("src/web/app.ts", 1)]),
    ("App", "src", GrepOptions(glob_filter="*.* !*.py"), [("src/web/app.ts", 1)]),
    ("App", ".", GrepOptions(glob_filter="*.log"), [("keep.log", 1)]),
    ("App", "build", GrepOptions(), [("build/app.py", 1)]),
    ("App", "trace.log", GrepOptions(), [("trace.log", 1)]),
    ("App", "data.bin", GrepOptions(), []),
    ("nowhere", ".", GrepOptions(), []),
]
"""Arguments of grep, each with the path and line number of every line that grep finds in the files SEARCHED."""


async def test_grep_finds_lines_in_path_order(open_env: Open) -> None:
    async with open_env(SEARCHED) as env:
        for pattern, path, options, expected in FOUND_BY_GREP:
            result = await env.grep(pattern, path, options)
            found = [(line.path, line.line) for line in result.lines]
            assert found == expected, (pattern, path, options)
            assert not result.truncated, (pattern, path, options)


async def test_grep_gives_text_without_ending_and_readable(open_env: Open) -> None:
    async with open_env(SEARCHED) as env:
        result = await env.grep("App", ".", GrepOptions(glob_filter="*.txt"))
    first, latin, wide = (line.text for line in result.lines)
    assert (first, wide) == ("App", "App wide")
    assert latin in ("App é", "App \ufffd"), (
        "a file that is not UTF-8 is guessed, or marked where it cannot be read"
    )


async def test_grep_with_context_marks_what_matched(open_env: Open) -> None:
    async with open_env({"a.txt": "1\n2\nhit\n4\n5\nhit\n7\n8\nhit"}) as env:
        result = await env.grep("hit", ".", GrepOptions(before_lines=1, after_lines=1, max_results=2))
    assert [(line.line, line.is_match) for line in result.lines] == [
        (2, False),
        (3, True),
        (4, False),
        (5, False),
        (6, True),
        (7, False),
    ]
    assert result.truncated


async def test_grep_with_too_many_matches_keeps_the_first_in_path_order(open_env: Open) -> None:
    async with open_env({f"{name}/f.txt": "hit\nhit\n" for name in "dcba"}) as env:
        result = await env.grep("hit", ".", GrepOptions(max_results=3))
    assert [(line.path, line.line) for line in result.lines] == [
        ("a/f.txt", 1),
        ("a/f.txt", 2),
        ("b/f.txt", 1),
    ]
    assert result.truncated


async def test_grep_of_a_minified_line_shows_the_match(open_env: Open) -> None:
    async with open_env({"a.js": "x" * 50_000 + "needle" + "y" * 50_000}) as env:
        (line,) = (await env.grep("needle", ".", GrepOptions())).lines
    assert "needle" in line.text
    assert len(line.text) <= 2_002
    assert line.text.startswith("…")
    assert line.text.endswith("…")


REFUSED_BY_GREP: Sequence[tuple[str, str, GrepOptions, type[EnvError]]] = [
    ("(", ".", GrepOptions(), InvalidPatternError),
    ("nul\0", ".", GrepOptions(), InvalidPatternError),
    ("x", ".", GrepOptions(glob_filter="[a"), InvalidPatternError),
    ("x", ".", GrepOptions(glob_filter="{a"), InvalidPatternError),
    ("x", "missing", GrepOptions(), PathNotFoundError),
]


async def test_grep_with_invalid_input_says_why(open_env: Open) -> None:
    async with open_env(SEARCHED) as env:
        for pattern, path, options, error in REFUSED_BY_GREP:
            with _refused(error, pattern, path, options):
                await env.grep(pattern, path, options)


FOUND_BY_GLOB: Sequence[tuple[str, str, Sequence[str]]] = [
    ("*.txt", ".", ["utf16.txt", "latin.txt", "crlf.txt"]),
    ("**/*.py", ".", ["src/sub/only_here.py", "src/app_test.py", "src/app.py"]),
    (
        "src/**",
        ".",
        ["src/sub/only_here.py", "src/web/.ignore", "src/web/app.ts", "src/app_test.py", "src/app.py"],
    ),
    ("*.py", "src", ["src/app_test.py", "src/app.py"]),
    ("src/*.py", ".", ["src/app_test.py", "src/app.py"]),
    ("src/{app,none}.[pq]?", ".", ["src/app.py"]),
    ("{root}/src/**/*.ts", ".", ["src/web/app.ts"]),
    ("src/app.py", ".", ["src/app.py"]),
    (".github/*", ".", [".github/ci.yml"]),
    ("**/*.log", ".", ["keep.log"]),
    ("build/*.py", ".", ["build/app.py"]),
    ("nowhere/*.py", ".", []),
    ("**/config", ".", []),
]


async def test_glob_finds_files_newest_first(open_env: Open) -> None:
    async with open_env(SEARCHED) as env:
        for pattern, path, expected in FOUND_BY_GLOB:
            found = await env.glob(pattern.replace("{root}", env.working_directory()), path)
            assert list(found) == expected, (pattern, path)


REFUSED_BY_GLOB: Sequence[tuple[str, str, type[EnvError]]] = [
    ("", ".", InvalidPatternError),
    ("src/", ".", InvalidPatternError),
    ("[z", ".", InvalidPatternError),
    ("[z-a]", ".", InvalidPatternError),
    ("../*", "src", InvalidPatternError),
    ("/*", ".", InvalidPatternError),
    ("*", "missing", PathNotFoundError),
    ("*", "crlf.txt", NotAFolderError),
]


async def test_glob_with_invalid_input_says_why(open_env: Open) -> None:
    async with open_env(SEARCHED) as env:
        for pattern, path, error in REFUSED_BY_GLOB:
            with _refused(error, pattern, path):
                await env.glob(pattern, path)


@writers
async def test_glob_after_a_commit_gives_the_written_file_first(open_env: Open) -> None:
    async with open_env({"a.txt": "1", "b.txt": "2"}) as env:
        await env.commit([FileWrite("a.txt", b"new", b"1")], ATTRIBUTION)
        assert list(await env.glob("*.txt", ".")) == ["a.txt", "b.txt"]


# --- commands -------------------------------------------------------------------------------------------------


@runners
async def test_a_command_gives_its_streams_and_its_exit_code(
    open_env: Open, factory: EnvironmentFactory
) -> None:
    pieces: dict[str, list[str]] = {"stdout": [], "stderr": []}
    whole: list[str] = []

    def take(stream: str, text: str) -> None:
        pieces[stream].append(text)
        whole.append(text)

    async with open_env({}) as env:
        result = await env.exec_command(shell_commands(env, factory).three_answers, CommandOptions(), take)
    assert (normalize_newlines(result.stdout), normalize_newlines(result.stderr), result.exit_code) == (
        "out\n",
        "err\n",
        3,
    )
    assert {stream: "".join(texts) for stream, texts in pieces.items()} == {
        "stdout": result.stdout,
        "stderr": result.stderr,
    }
    assert result.output == "".join(whole)
    assert not result.timed_out
    assert result.note == ""


@runners
async def test_a_command_runs_where_its_options_say(open_env: Open, factory: EnvironmentFactory) -> None:
    async with open_env({"sub/here.txt": "found me\n"}) as env:
        result = await env.exec_command(
            shell_commands(env, factory).show_file, CommandOptions(working_dir="sub")
        )
    assert (result.output, result.exit_code) == ("found me\n", 0)


@runners
async def test_a_command_gets_the_variables_of_its_options(
    open_env: Open, factory: EnvironmentFactory
) -> None:
    async with open_env({}) as env:
        options = CommandOptions(env_vars={"GREETING": "hello"})
        result = await env.exec_command(shell_commands(env, factory).greet, options)
    assert (normalize_newlines(result.output), result.exit_code) == ("hello\n", 0)


@runners
async def test_a_command_has_no_input(open_env: Open, factory: EnvironmentFactory) -> None:
    async with open_env({}) as env:
        result = await env.exec_command(shell_commands(env, factory).read_all, CommandOptions())
    assert (result.output, result.exit_code) == ("", 0)


@runners
async def test_a_command_that_is_killed_says_so(open_env: Open, factory: EnvironmentFactory) -> None:
    async with open_env({}) as env:
        if not (kill := shell_commands(env, factory).kill_itself):
            pytest.skip("no command can kill itself here")
        result = await env.exec_command(kill, CommandOptions())
    assert (result.output, result.exit_code) == ("", -9)


@runners
async def test_a_command_at_its_limit_is_ended_with_what_it_started(
    open_env: Open, factory: EnvironmentFactory
) -> None:
    async with open_env({}) as env:
        result = await env.exec_command(shell_commands(env, factory).forever, CommandOptions(timeout_ms=300))
    assert result.timed_out
    assert result.exit_code != 0


@runners
@pytest.mark.parametrize(
    ("command", "options", "error"),
    [
        ("exit", CommandOptions(working_dir="missing"), PathNotFoundError),
        ("exit", CommandOptions(working_dir="sub/here.txt"), NotAFolderError),
        ("nul\0", CommandOptions(), ProcessStartError),
        ("exit " + "x" * 3_000_000, CommandOptions(), ProcessStartError),
    ],
    ids=["no folder", "a file", "NUL", "too long"],
)
async def test_a_command_that_cannot_start_says_why(
    open_env: Open,
    factory: EnvironmentFactory,
    command: str,
    options: CommandOptions,
    error: type[EnvError],
) -> None:
    async with open_env({"sub/here.txt": ""}) as env:
        with pytest.raises(error):
            await env.exec_command(command, options)
        if factory.starts_processes:
            with pytest.raises(error):
                await env.start_process(command, options)
        assert list(await env.list_processes()) == []


@starters
async def test_a_background_process_is_started_read_listed_and_killed(
    open_env: Open, factory: EnvironmentFactory
) -> None:
    async with open_env({}) as env:
        started = await env.start_process(shell_commands(env, factory).ready_forever, CommandOptions())
        await wait_for_output(env, started.id, "ready\n")
        assert [(info.id, info.exit_code) for info in await env.list_processes()] == [("p1", None)]
        ended = await env.kill_process(started.id)
        assert (ended.id, ended.command, ended.pid) == ("p1", started.command, started.pid)
        assert ended.exit_code == shell_commands(env, factory).ended_code
        assert list(await env.list_processes()) == [ended]
        output, offset = await env.read_process(started.id, 0)
        assert (normalize_newlines(output), offset) == ("ready\n", len(output))
        assert await env.read_process(started.id, 3) == (output[3:], offset)
        assert await env.read_process(started.id, offset) == ("", offset)


@starters
async def test_a_background_process_reads_what_is_written_until_its_input_is_closed(
    open_env: Open, factory: EnvironmentFactory
) -> None:
    async with open_env({}) as env:
        started = await env.start_process(shell_commands(env, factory).talk, CommandOptions())
        await env.write_process(started.id, "one\n")
        await wait_for_output(env, started.id, "got one")
        assert (await env.write_process(started.id, "two\nthree\n", close=True)).exit_code is None
        await wait_for_output(env, started.id, "end")
        assert normalize_newlines((await env.read_process(started.id))[0]) == "got one\ntwo\nthree\nend\n"
        with pytest.raises(InputRefusedError):
            await env.write_process(started.id, "four\n")
        await env.kill_process(started.id)
        with pytest.raises(InputRefusedError):
            await env.write_process(started.id, "five\n")


async def test_an_unknown_background_process_is_not_found(open_env: Open) -> None:
    async with open_env({}) as env:
        with pytest.raises(PathNotFoundError):
            await env.read_process("p9")
        with pytest.raises(PathNotFoundError):
            await env.write_process("p9", "x")
        with pytest.raises(PathNotFoundError):
            await env.kill_process("p9")


@without_commands
async def test_an_environment_without_commands_says_so(open_env: Open) -> None:
    async with open_env({}) as env:
        with pytest.raises(UnsupportedError):
            await env.exec_command("true", CommandOptions())


@without_processes
async def test_an_environment_without_background_processes_says_so(open_env: Open) -> None:
    async with open_env({}) as env:
        with pytest.raises(UnsupportedError):
            await env.start_process("true", CommandOptions())
        assert list(await env.list_processes()) == []
