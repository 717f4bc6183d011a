"""Pure: the findings of a review as JSON, and as SARIF 2.1.0 for code hosts and editors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from agent_ls._version import __version__
from agent_ls.services.review.findings import ReviewFinding
from agent_ls.text import strip_controls

FindingsFormat: TypeAlias = Literal["json", "sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULE = "review"
_LEVELS: Mapping[str, str] = MappingProxyType({"error": "error", "warning": "warning", "info": "note"})


def findings_text(findings: Sequence[ReviewFinding], folder: str, format_: FindingsFormat) -> str:
    """Return the findings as one JSON document. Paths below `folder` are relative to `folder`; lines count
    from 1.
    """
    document = _json(findings, folder) if format_ == "json" else _sarif(findings, folder)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _json(findings: Sequence[ReviewFinding], folder: str) -> dict[str, Any]:
    return {
        "findings": [
            {
                "path": _path(it.path, folder)[0],
                "startLine": it.start + 1,
                "endLine": it.end,
                "severity": it.severity,
                "message": strip_controls(it.message),
                **({"suggestedFix": strip_controls(it.fix)} if it.fix else {}),
            }
            for it in findings
        ]
    }


def _sarif(findings: Sequence[ReviewFinding], folder: str) -> dict[str, Any]:
    rule = {"id": _RULE, "shortDescription": {"text": "A finding of a review by a language model"}}
    driver = {"name": "agent-ls", "version": __version__, "rules": [rule]}
    results = [_result(it, folder) for it in findings]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _result(finding: ReviewFinding, folder: str) -> dict[str, Any]:
    path, is_inside = _path(finding.path, folder)
    artifact = (
        {"uri": quote(path), "uriBaseId": "%SRCROOT%"} if is_inside else {"uri": PurePath(path).as_uri()}
    )
    region = {"startLine": finding.start + 1, "endLine": finding.end}
    return {
        "ruleId": _RULE,
        "ruleIndex": 0,
        "level": _LEVELS[finding.severity],
        "message": {"text": strip_controls(finding.message)},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
        **({"properties": {"suggestedFix": strip_controls(finding.fix)}} if finding.fix else {}),
    }


def _path(path: str, folder: str) -> tuple[str, bool]:
    """Return the path and whether it is below `folder`. A path below `folder` is returned relative to
    `folder`, with slashes.
    """
    try:
        return PurePath(path).relative_to(folder).as_posix(), True
    except ValueError:
        return path, False
