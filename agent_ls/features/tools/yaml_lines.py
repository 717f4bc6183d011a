"""Read YAML into plain values, with the line number of each value for error messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from agent_ls.yaml_depth import is_too_deep

Place: TypeAlias = tuple[str | int, ...]
"""Path of a value in the document: names and indexes, () for the whole document."""

MAX_DEPTH = 20


class YamlError(Exception):
    """The text is not YAML, or uses a feature that is not allowed. `line` counts from 1."""

    def __init__(self, words: str, line: int) -> None:
        super().__init__(words)
        self.line = line


@dataclass(frozen=True, slots=True)
class ParsedYaml:
    """A parsed document. `lines` maps the path of each value to its line number."""

    value: Any
    lines: Mapping[Place, int] = field(default_factory=dict)

    def line(self, place: Place) -> int:
        """Return the line of a value.

        If the value is missing, return the line of the nearest value that encloses it.
        """
        return next((self.lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in self.lines), 1)


def read_yaml(text: str) -> ParsedYaml:
    """Parse a YAML document.

    Tags, duplicate names, and anchors (which can expand to gigabytes) are refused.

    Raises:
        YamlError: the text is not YAML, or uses a refused feature.
    """
    if is_too_deep(text):
        raise YamlError("the value is nested too deeply", 1)
    lines: dict[Place, int] = {}
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise YamlError(
                    "anchors (&) and aliases (*) are not supported: write the value out", _line(event)
                )
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = _value(node, (), lines) if node else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(f"not valid YAML: {error.problem or error}", mark.line + 1 if mark else 1) from None
    except yaml.YAMLError as error:
        raise YamlError(f"not valid YAML: {error}", 1) from None
    except RecursionError:
        raise YamlError("the value is nested too deeply", 1) from None
    return ParsedYaml(value, lines)


def _value(node: yaml.Node, place: Place, lines: dict[Place, int]) -> Any:
    lines[place] = _line(node)
    if len(place) > MAX_DEPTH:
        raise YamlError("the value is nested too deeply", lines[place])
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*place, number), lines) for number, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key, item in node.value:
            name = _name(key)
            if name in found:
                raise YamlError(f"the key {name} occurs twice", _line(key))
            found[name] = _value(item, (*place, name), lines)
            lines[(*place, name)] = _line(key)
        return found
    return _scalar(node)


def _name(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise YamlError("a name is expected before the colon", _line(node))
    return str(node.value)


def _scalar(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_object(node)
    except (yaml.YAMLError, ValueError, OverflowError):
        raise YamlError(f"this value is not understood: {str(node.value)[:40]}", _line(node)) from None
    finally:
        loader.dispose()


def _line(part: Any) -> int:
    return int(part.start_mark.line) + 1
