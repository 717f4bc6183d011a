"""Searches on this machine: the choice of ripgrep, the parsing of its output in any chunks, and cancellation."""

from __future__ import annotations

import base64
import itertools
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from hypothesis import given, strategies as st

from agent_ls.environments.base import GrepLine, GrepOptions
from agent_ls.environments.errors import InvalidPatternError, NotAFileError, SearchLimitError
from agent_ls.environments.local import LocalEnvironment, ripgrep
from agent_ls.environments.local.processes.ending import run_process, run_program
from agent_ls.environments.local.search import LocalSearch
from tests.support.processes import Fifo, eventually, new_token, processes_with

pytestmark = pytest.mark.req("T6")


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


# --- finding it -----------------------------------------------------------------------------------------------


def test_the_bundled_ripgrep_is_found_and_runs() -> None:
    assert ripgrep.find_working(ripgrep.candidates())


def test_the_first_ripgrep_that_runs_is_used(tmp_path: Path) -> None:
    versions = {"wheel": "14.1.0 (rev x)", "path": "99.0.0"}
    programs = [program(tmp_path / name, f"echo 'ripgrep {version}'") for name, version in versions.items()]
    broken = [program(tmp_path / "no", "exit 1"), str(tmp_path), str(tmp_path / "missing")]
    assert ripgrep.find_working(broken + programs) == str(tmp_path / "wheel")
    assert ripgrep.find_working(broken) == ""


def test_simultaneous_searches_query_the_version_of_each_ripgrep_once(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    programs = [
        program(tmp_path / name, f"echo x >>{asked}; echo 'ripgrep 14.1.0'") for name in ("wheel", "path")
    ]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ripgrep.find_working, [programs] * 6))
    assert answers == [programs[0]] * 6
    assert asked.read_text() == "x\n"


# --- its limit ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="Windows has no limit of processor time for another program")
async def test_a_search_that_computes_too_long_is_ended(tmp_path: Path) -> None:
    found = message("begin", path=text("/p/a")) + line(text("/p/a"), text("x\n"), 1, 0)
    (tmp_path / "output").write_bytes(found)
    busy = program(tmp_path / "rg", f"cat {tmp_path}/output; while :; do :; done")
    with pytest.raises(SearchLimitError, match="smaller folder"):
        await LocalSearch(str(tmp_path), busy, limit_s=1).grep("x", str(tmp_path), ".", GrepOptions())


async def test_a_search_without_ripgrep_ends_at_the_same_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    search = LocalSearch(str(tmp_path), "", limit_s=0)
    with pytest.raises(SearchLimitError):
        await search.grep("x", str(tmp_path), ".", GrepOptions())


# --- its output -----------------------------------------------------------------------------------------------


def message(kind: str, **data: object) -> bytes:
    return json.dumps({"type": kind, "data": data}).encode() + b"\n"


def text(value: str) -> dict[str, str]:
    return {"text": value}


def encoded(value: bytes) -> dict[str, str]:
    return {"bytes": base64.b64encode(value).decode()}


def line(path: dict[str, str], lines: dict[str, str], number: int, *starts: int) -> bytes:
    submatches = [{"match": text("x"), "start": start, "end": start + 1} for start in starts]
    kind = "match" if starts else "context"
    return message(kind, path=path, lines=lines, line_number=number, absolute_offset=0, submatches=submatches)


OUTPUT = b"".join(
    [
        message("begin", path=text("/p/é.py")),
        line(text("/p/é.py"), text("before\r\n"), 3),
        line(text("/p/é.py"), text("é" * 3_000 + "x\n"), 4, 6_000),
        message("end", path=text("/p/é.py"), binary_offset=None),
        message("begin", path=text("/p/data.bin")),
        line(text("/p/data.bin"), text("x\0"), 1, 0),
        message("end", path=text("/p/data.bin"), binary_offset=1),
        message("begin", path=encoded(b"/q/\xff")),
        line(encoded(b"/q/\xff"), encoded(b"\xffx"), 1, 1),
        message("end", path=encoded(b"/q/\xff"), binary_offset=None),
        message("summary", stats={}),
    ]
)


@given(st.lists(st.integers(0, len(OUTPUT)), max_size=20))
def test_ripgrep_json_split_at_any_bytes_is_parsed_to_the_same_lines(cuts: list[int]) -> None:
    parser = ripgrep.JsonParser("/p")
    places = [0, *sorted(cuts), len(OUTPUT)]
    pieces = [OUTPUT[start:end] for start, end in itertools.pairwise(places)]
    (before, found), (odd,) = [lines for piece in pieces for lines in parser.feed(piece)]
    assert before == GrepLine("é.py", 3, "before", is_match=False)
    assert (found.path, found.line, found.is_match) == ("é.py", 4, True)
    assert found.text.endswith("éx")
    assert odd == GrepLine("/q/\udcff", 1, "ÿx")


# --- running it -----------------------------------------------------------------------------------------------


async def test_an_invalid_pattern_is_reported_with_the_message_of_ripgrep(tmp_path: Path) -> None:
    with pytest.raises(InvalidPatternError, match="unclosed group"):
        await LocalEnvironment(str(tmp_path)).grep("a(", ".", GrepOptions())


async def test_a_pattern_that_looks_like_an_option_is_searched_as_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("say --files\n")
    found = await LocalEnvironment(str(tmp_path)).grep("--files", "a.txt", GrepOptions())
    assert len(found.lines) == 1


async def test_a_search_outside_the_working_folder_gives_absolute_paths_and_skips_the_git_folder(
    tmp_path: Path,
) -> None:
    for name in ("here/a", "there/b", "there/.git/c", "there/.gitignore"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("ignored\nhit\n")
    (tmp_path / "there/ignored").write_text("hit\n")
    for program_used in (None, ""):
        env = LocalEnvironment(str(tmp_path / "here"), ripgrep=program_used)
        expected = [str(tmp_path / "there/.gitignore"), str(tmp_path / "there/b")]
        found = await env.grep("hit", "../there", GrepOptions())
        assert [line.path for line in found.lines] == expected
        assert sorted(await env.glob("**", str(tmp_path / "there"))) == expected


async def test_symbolic_links_below_the_searched_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.txt").write_text("hit")
    (tmp_path / "project/link").symlink_to("../outside")
    (tmp_path / "project/file").symlink_to("../outside/a.txt")
    for program_used in (None, ""):
        env = LocalEnvironment(str(tmp_path / "project"), ripgrep=program_used)
        assert (await env.grep("hit", ".", GrepOptions())).lines == ()
        assert list(await env.glob("**", ".")) == []
        assert len((await env.grep("hit", "link", GrepOptions())).lines) == 1


async def test_grep_of_a_named_pipe_is_refused_and_glob_does_not_list_a_named_pipe(tmp_path: Path) -> None:
    with Fifo(tmp_path / "pipe"):
        with pytest.raises(NotAFileError):
            await LocalEnvironment(str(tmp_path)).grep("x", "pipe", GrepOptions())
        assert list(await LocalEnvironment(str(tmp_path)).glob("*", ".")) == []


@pytest.mark.req("L16")
@pytest.mark.parametrize("what", ["grep", "glob"])
async def test_a_cancelled_search_ends_ripgrep(tmp_path: Path, what: str) -> None:
    token = new_token()
    with Fifo(tmp_path / "ready") as ready:
        slow = program(tmp_path / "rg", f"echo {token} >{tmp_path}/ready; TOKEN={token} exec sleep 1000")
        env = LocalEnvironment(str(tmp_path), ripgrep=slow)
        async with anyio.create_task_group() as group:
            if what == "grep":
                group.start_soon(env.grep, token, ".", GrepOptions())
            else:
                group.start_soon(env.glob, f"**/{token}", ".")
            assert await ready.line() == token
            await eventually(lambda: processes_with(token) != {})
            group.cancel_scope.cancel()
    assert processes_with(token) == {}


async def test_a_cancelled_search_without_ripgrep_stops(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"f{number}").write_text("x")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await LocalEnvironment(str(tmp_path), ripgrep="").grep("x", ".", GrepOptions())
    assert scope.cancelled_caught


async def test_ending_a_search_that_just_ended_logs_no_unknown_child(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio's watcher waits for the child, so no other code may collect its exit status, even by polling."""
    ends_at_once = program(tmp_path / "rg", "echo found")
    for _ in range(100):
        async with run_process([ends_at_once], str(tmp_path)) as process:
            assert process.stdout
            await process.stdout.receive()
    assert not [record.message for record in caplog.records if record.name == "asyncio"]


async def test_cancelling_a_program_that_just_ended_logs_no_unknown_child(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for attempt in range(200):
        with anyio.move_on_after(attempt % 20 / 10_000):
            await run_program(["true"])
    assert not [record.message for record in caplog.records if record.name == "asyncio"]


async def test_run_program_returns_the_exit_code_stdout_and_stderr(tmp_path: Path) -> None:
    words = program(tmp_path / "words", 'echo "$NAME"; pwd >&2; exit 3')
    done = await run_program([words], tmp_path, {"NAME": "value"})
    assert (done.returncode, done.stdout, done.stderr) == (3, b"value\n", f"{tmp_path}\n".encode())


# --- globs, with ripgrep and without ----------------------------------------------------------------------------

NAMES = (
    "x.txt",
    "ax.txt",
    "bx.md",
    "b,x.md",
    "sub/x.txt",
    "sub/ax.TXT",
    "sub/deep/n b.ipynb",
    "-x.txt",
    ".x.txt",
)
GLOBS = (
    "**/*.txt", "**/{a,}x.txt", "**/{a,b}x.*", "sub/**", "**/*", "{sub/x,ax}.txt", "**/?x.{md,txt}", "**/[ab]x.*",
    "b,x.md", "**/a**t", "**/*.ipynb", "-x.txt", "{s,}ub/x.txt", "**/ignored.txt",
)  # fmt: skip


@pytest.mark.parametrize("glob", GLOBS)
async def test_a_glob_finds_the_same_files_with_and_without_ripgrep(glob: str, tmp_path: Path) -> None:
    for name in (*NAMES, "ignored.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("word\n")
    (tmp_path / ".gitignore").write_text("ignored.txt\n")
    found = []
    for ripgrep_program in (None, ""):
        environment = LocalEnvironment(str(tmp_path), ripgrep=ripgrep_program)
        files = await environment.glob(glob, str(tmp_path))
        lines = await environment.grep("word", str(tmp_path), GrepOptions(glob_filter=glob))
        found.append((sorted(files), sorted({line.path for line in lines.lines})))
        await environment.cleanup()
    assert found[0] == found[1]
    assert bool(found[0][0]) == ("ignored" not in glob)
