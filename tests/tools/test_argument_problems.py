"""Problems of arguments in plain words: the name of the argument, what is wanted, and what was given."""

from __future__ import annotations

import datetime
import json
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator

from agent_ls.loop.calls.arguments import ArgumentsError, parse_arguments
from agent_ls.tools.base import Arguments

pytestmark = pytest.mark.req("T1", "H28")


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    id: int


class Wants(Arguments):
    timeout_ms: Annotated[int, Field(ge=1, le=10)] | Literal["none"] | None = None
    many: list[Annotated[int, Field(gt=0)]] | None = None
    ref: int | str = 1
    color: Color | None = None
    either: Item | list[Item] | None = None
    name: Annotated[str, Field(min_length=2, pattern="^[a-z]+$")] | None = None
    flag: bool | None = None
    when: datetime.date | None = None
    sizes: dict[str, float] | None = None
    own: int = 1

    @field_validator("own")
    @classmethod
    def check(cls, value: int) -> int:
        if value == 13:
            raise ValueError("thirteen is taken")
        return value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout_ms": "abc"}, ["timeout_ms: must be a whole number or 'none', got \"abc\""]),
        ({"timeout_ms": 0}, ["timeout_ms: must be at least 1 or 'none', got 0"]),
        (
            {"many": [0, "x"]},
            ["many.0: must be more than 0, got 0", 'many.1: must be a whole number, got "x"'],
        ),
        ({"many": 5}, ["many: must be a list, got 5"]),
        ({"ref": [1]}, ["ref: must be a whole number or a text, got [1]"]),
        ({"color": "green"}, ["color: must be 'red' or 'blue', got \"green\""]),
        ({"either": 3}, ["either: must be an object or a list, got 3"]),
        ({"either": [{"id": "x"}]}, ['either.0.id: must be a whole number, got "x"']),
        ({"either": {}}, ["either.id: required, but missing"]),
        ({"name": "A"}, ['name: must be a text of at least 2 characters, got "A"']),
        ({"name": "ABC"}, ['name: must be a text that matches ^[a-z]+$, got "ABC"']),
        ({"flag": "maybe"}, ['flag: must be true or false, got "maybe"']),
        ({"when": "x"}, ['when: must be a date such as 2026-01-31, got "x"']),
        ({"sizes": {"a": []}}, ["sizes.a: must be a number, got []"]),
        ({"own": 13}, ["own: thirteen is taken, got 13"]),
    ],
)
def test_a_problem_names_the_argument_and_says_in_plain_words_what_is_wanted(
    given: dict[str, Any], said: list[str]
) -> None:
    with pytest.raises(ArgumentsError) as raised:
        parse_arguments(json.dumps(given), Wants)
    assert str(raised.value).splitlines() == [f"- {line}" for line in said]


@pytest.mark.report("archestra-ai/archestra#5409")
def test_of_two_objects_none_is_taken() -> None:
    with pytest.raises(ArgumentsError, match="Send one JSON object"):
        parse_arguments('{"timeout_ms": 1}{"timeout_ms": 2}', Wants)
