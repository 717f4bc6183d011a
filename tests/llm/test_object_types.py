"""Objects of a class of the program: a pydantic model, a dataclass, a TypedDict."""

from __future__ import annotations

import json
import sys
import typing
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from agent_ls.library.scripted_model import ScriptedModel
from agent_ls.llm.client import Client
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.generate import build_request, generate_object, stream_object
from agent_ls.llm.object_errors import NoObjectGeneratedError
from agent_ls.llm.object_types import object_type
from agent_ls.llm.requests import Usage
from agent_ls.llm.schema_check import check_schema

pytestmark = pytest.mark.req("U9")


class Pet(BaseModel):
    name: str
    born: date
    friends: list[Pet] = Field(default_factory=list)

    @field_validator("name")
    @classmethod
    def _no_cat(cls, name: str) -> str:
        if name == "Tom":
            raise ValueError("no cats")
        return name


@dataclass(frozen=True)
class Toy:
    name: str
    price: float = 1.0


class Place(TypedDict):
    street: str


class Old(typing.TypedDict):
    a: int


@dataclass
class Outer:
    inner: Old


def client(answer: object) -> Client:
    return Client({"one": ScriptedModel(json.dumps(answer))}, "one")


REQUEST = build_request("m", "Which one?")


@pytest.mark.parametrize(
    ("kind", "answer", "made"),
    [
        (
            Pet,
            {"name": "Rex", "born": "2020-02-03", "friends": [{"name": "Bo", "born": "2021-01-01"}]},
            Pet(name="Rex", born=date(2020, 2, 3), friends=[Pet(name="Bo", born=date(2021, 1, 1))]),
        ),
        (Toy, {"name": "ball", "price": 2.5}, Toy("ball", 2.5)),
        (Place, {"street": "Main"}, {"street": "Main"}),
    ],
)
async def test_an_object_of_a_class_is_an_instance_of_it(
    kind: type[Any], answer: object, made: object
) -> None:
    assert (await generate_object(REQUEST, kind, client=client(answer))).output == made
    growing = stream_object(REQUEST, kind, client=client(answer))
    assert [partial async for partial in growing][-1] == answer
    assert growing.object() == made


@pytest.mark.parametrize("answer", [{"name": "Rex"}, {"name": "Tom", "born": "2020-02-03"}, ["Rex"]])
async def test_an_answer_that_does_not_fit_the_class_is_an_error(answer: object) -> None:
    with pytest.raises(NoObjectGeneratedError):
        await generate_object(REQUEST, Pet, client=client(answer))


@pytest.mark.parametrize("answer", ["no json", "[1]", '{"name": "Tom", "born": "2020-02-03"}'])
async def test_the_error_about_an_answer_has_the_usage_of_the_call(answer: str) -> None:
    paid = Usage(1000, 500, reported_cost_usd=0.5)
    one = Client({"one": ScriptedModel(answer, answer, usage=paid)}, "one")
    with pytest.raises(NoObjectGeneratedError) as raised:
        await generate_object(REQUEST, Pet, client=one)
    assert raised.value.usage == paid
    growing = stream_object(REQUEST, Pet, client=one)
    async for _ in growing:
        pass
    with pytest.raises(NoObjectGeneratedError) as raised:
        growing.object()
    assert raised.value.usage == paid
    assert NoObjectGeneratedError("no answer").usage is None


@pytest.mark.parametrize("kind", [int, object, type("Plain", (), {"__annotations__": {"a": int}})])
def test_a_class_without_a_schema_of_an_object_is_refused(kind: type[Any]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        object_type(kind)
    assert raised.value.hint


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes it from Python 3.12 on")
def test_a_typed_dict_of_python_3_11_is_refused_with_the_one_that_works() -> None:
    for kind in (Old, Outer):
        with pytest.raises(ConfigurationError, match=r"typing\.TypedDict") as raised:
            object_type(kind)
        assert "typing_extensions" in raised.value.hint


@pytest.mark.parametrize("kind", [Pet, Toy, Place])
def test_the_schema_of_a_class_has_an_object_as_its_root(kind: type[Any]) -> None:
    schema = object_type(kind).schema
    check_schema(schema)
    assert schema["type"] == "object"
