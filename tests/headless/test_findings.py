"""agent-ls exec "/review" --findings prints the findings of a review as JSON or SARIF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.support.commands import environment, provider_variables, run
from tests.support.loopback import AnthropicServer, ToolCall

FINDING = {
    "file_path": "shop/cart.py",
    "start_line": 11,
    "end_line": 12,
    "severity": "warning",
    "message": "The rate is subtracted.\x1b[31m",
    "suggested_fix": "Multiply.",
}


def reviewed(tmp_path: Path, *words: str) -> Any:
    project = copy_sample_project(tmp_path / "shop project")
    with AnthropicServer([[ToolCall("report_finding", FINDING)], "One finding."]) as server:
        environ = environment(tmp_path, **provider_variables(server))
        done = run("exec", *words, "/review shop", cwd=project, environ=environ)
        assert done.code == 0, done
        return done, [tool["name"] for tool in server.requests[0].body["tools"]]


@pytest.mark.req("H21", "H13")
def test_findings_are_one_json_document_and_the_transcript_goes_to_standard_error(tmp_path: Path) -> None:
    done, offered = reviewed(tmp_path, "--findings", "json")

    assert json.loads(done.out) == {
        "findings": [
            {
                "path": "shop/cart.py",
                "startLine": 11,
                "endLine": 12,
                "severity": "warning",
                "message": "The rate is subtracted.",
                "suggestedFix": "Multiply.",
            }
        ]
    }
    assert "One finding." in done.err and offered[-1] == "report_finding"


@pytest.mark.req("H21", "H13")
def test_findings_are_printed_as_sarif_with_paths_relative_to_the_folder(tmp_path: Path) -> None:
    done, _ = reviewed(tmp_path, "--findings", "sarif")

    document = json.loads(done.out)
    (result,) = document["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (document["version"], result["level"]) == ("2.1.0", "warning")
    assert result["message"]["text"] == "The rate is subtracted."
    assert place["artifactLocation"] == {"uri": "shop/cart.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 11, "endLine": 12}
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_findings_and_json_options_cannot_be_combined(tmp_path: Path) -> None:
    done = run("exec", "--findings", "json", "--json", "/review", cwd=tmp_path, environ=environment(tmp_path))
    assert done.code == 2 and "choose one" in done.err
