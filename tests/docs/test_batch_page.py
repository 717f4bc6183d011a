"""docs/batch.md has the options, manifest fields and statuses of the code, and its job files can be parsed."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import get_args

import pytest
import yaml

from agent_ls.batch.folder import Status
from agent_ls.batch.manifest import FIELD_NAMES, read_manifest
from agent_ls.cli import batch as command
from tests.docs.pages import blocks, code_words, read, table
from tests.docs.test_headless_page import options_of, parser

PAGE = read("docs/batch.md")


def block(language: str) -> str:
    (found,) = blocks(PAGE, language)
    return found.text


def test_fields_options_statuses_and_exit_codes_on_the_page_match_the_program() -> None:
    made = argparse.ArgumentParser()
    command.add_arguments(made)
    fields = {word for row in table(PAGE, "field") for word in code_words(row[0])}
    assert fields == set(FIELD_NAMES)
    assert {row[0].strip("`").split()[0] for row in table(PAGE, "option")} == options_of(made)
    assert {row[0].strip("`") for row in table(PAGE, "status")} == set(get_args(Status))
    codes = [command.EXIT_DONE, command.EXIT_FAILED, command.EXIT_USAGE, command.EXIT_INTERRUPTED]
    assert [int(row[0]) for row in table(PAGE, "exit code")] == codes


def test_the_example_manifest_on_the_page_can_be_read(tmp_path: Path) -> None:
    for name in ("shop", "notes"):
        (tmp_path / name).mkdir()
    path = tmp_path / "tasks.jsonl"
    path.write_text(block("json"))
    assert [task.id for task in read_manifest(path)] == ["fix-1", "note-1"]


@pytest.mark.req("X12")
def test_each_index_of_the_kubernetes_and_slurm_examples_runs_a_different_shard() -> None:
    job = yaml.safe_load(block("yaml"))["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert job["completionMode"] == "Indexed" and container["command"] == ["/bin/sh", "-c"]
    script = block("bash")
    assert "--array=1-8" in script
    slurm = next(line for line in script.splitlines() if line.startswith("agent-ls"))
    shards = [f"{number}/8" for number in range(1, 9)]
    for line, variables in (
        (container["args"][0].removeprefix("exec "), [{"JOB_COMPLETION_INDEX": str(n)} for n in range(8)]),
        (
            slurm.removesuffix(" &"),
            [{"SLURM_ARRAY_TASK_ID": str(n), "SLURM_ARRAY_TASK_COUNT": "8"} for n in range(1, 9)],
        ),
    ):
        said = [
            subprocess.run(
                ["sh", "-c", f"echo {line}"],
                env={"PATH": os.environ["PATH"], **more},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for more in variables
        ]
        found = [parser().parse_args(shlex.split(words)[1:]).shard for words in said]
        assert found == shards
    assert job["completions"] == 8 and re.search(r'\+ 1\)\)/8"$', container["args"][0])
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
