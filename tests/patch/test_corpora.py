"""Recorded patches of other projects. Skipped unless a folder with them is next to the repository."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ls.patch.errors import PatchError
from agent_ls.patch.hunks import ChangeSet
from agent_ls.patch.v4a_apply import Contents, Unreadable
from tests.patch.applying import applied, apply_patch, encoded, patch, refused

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "patch-corpus"

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(),
    reason=f"the recorded patches are not here: {CORPUS.parent.name}/{CORPUS.name} is missing",
)


def found(pattern: str) -> list[Path]:
    return sorted(path for path in CORPUS.glob(pattern) if path.name != "manifest.json")


def names(paths: list[Path]) -> list[str]:
    return [path.stem for path in paths]


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".gitkeep")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def reader(folder: Path) -> Callable[[str], Contents]:
    def read(path: str) -> Contents:
        target = folder / path
        if target.is_dir():
            return Unreadable("is a directory", "IS_DIRECTORY")
        return target.read_bytes() if target.exists() else None

    return read


def written(before: dict[str, bytes], changes: ChangeSet) -> dict[str, bytes]:
    after = dict(before)
    for write in changes.writes:
        if write.after is None:
            del after[write.path]
        else:
            after[write.path] = write.after
    return after


SCENARIOS = found("codex-scenarios/*/patch.txt")


@pytest.mark.req("T4")
@pytest.mark.parametrize("scenario", [p.parent for p in SCENARIOS], ids=[p.parent.name for p in SCENARIOS])
def test_scenario_of_the_reference_program_gives_the_expected_files(scenario: Path) -> None:
    text = (scenario / "patch.txt").read_text(encoding="utf-8")
    before, expected = tree(scenario / "input"), tree(scenario / "expected")
    try:
        after = written(before, apply_patch(text, reader(scenario / "input")))
    except PatchError:
        after = before
        assert "rejects" in scenario.name or "fails" in scenario.name
    assert after == expected


UNPREFIXED = found("unprefixed-context/*.json")


@pytest.mark.req("T4")
@pytest.mark.parametrize("case", UNPREFIXED, ids=names(UNPREFIXED))
def test_context_without_its_leading_space_is_accepted(case: Path) -> None:
    recorded = json.loads(case.read_text(encoding="utf-8"))
    (change,) = apply_patch(recorded["patch"], lambda path: encoded(recorded["original"])).changes
    assert change.after == encoded(recorded["expected"])


MISTAKES = found("model-mistakes/*-call.txt")


@pytest.mark.req("T4")
@pytest.mark.parametrize("call", MISTAKES, ids=names(MISTAKES))
def test_recorded_patch_of_a_model_gives_the_recorded_text(call: Path) -> None:
    before = call.with_name(call.name.replace("-call", "-input")).read_bytes()
    expected = call.with_name(call.name.replace("-call", "-output")).read_bytes()
    (change,) = apply_patch(call.read_text(encoding="utf-8"), lambda path: before).changes
    assert plain(change.after or b"") == plain(expected)


def plain(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").removesuffix(b"\n")


def sdk_cases() -> list[dict[str, str]]:
    path = CORPUS / "agents-sdk-v4a.json"
    cases: list[dict[str, str]] = (
        json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []
    )
    return cases


@pytest.mark.req("T4")
@pytest.mark.parametrize("case", sdk_cases(), ids=[case["test"] for case in sdk_cases()])
def test_patch_in_the_sdk_dialect_has_the_recorded_outcome(case: dict[str, str]) -> None:
    is_update = case["mode"] == "default"
    header = "*** Update File: f" if is_update else "*** Add File: f"
    text, world = patch(header, case["diff"]), {"f": case["input"]} if is_update else {}
    if "error" in case:
        refused(text, world)
        return
    # The only difference: agent-ls ends an added file with a newline, and uses LF.
    expected = case["output"] if is_update else case["output"].replace("\r\n", "\n") + "\n"
    assert applied(text, world) == {"f": expected}
