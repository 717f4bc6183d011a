"""Project files with deeply nested YAML, which would take hours to parse, are refused before they are parsed."""

from __future__ import annotations

import pytest

from agent_ls.features.tools.yaml_lines import YamlError, read_yaml
from agent_ls.front_matter import FrontMatterError, parse_page
from agent_ls.yaml_depth import MAX_BRACKETS, is_too_deep

DEEP = "a: " + "[" * 60_000


def test_yaml_depth_counts_only_unclosed_brackets() -> None:
    assert is_too_deep("[{" * MAX_BRACKETS)
    assert not is_too_deep("[{}], " * 10 * MAX_BRACKETS)
    assert not is_too_deep("]}" * 10 * MAX_BRACKETS + "[" * MAX_BRACKETS)


@pytest.mark.timeout(120)  # parsing DEEP would take hours
def test_deep_yaml_of_tools_and_skills_is_refused() -> None:
    with pytest.raises(YamlError, match="nested too deep"):
        read_yaml(DEEP)
    with pytest.raises(FrontMatterError, match="not valid YAML"):
        parse_page(f"---\n{DEEP}\n---\ntext\n")
