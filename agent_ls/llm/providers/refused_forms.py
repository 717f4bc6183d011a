"""Send messages in another form to a server that refuses the usual one, and remember the form for its model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from agent_ls.llm.errors import InvalidRequestError, LlmError, is_refusal
from agent_ls.llm.messages import JsonValue
from agent_ls.llm.providers.wire_json import encode_json
from agent_ls.patterns import regex

NO_TEXT = "(no text)"
NOT = r"(\bnot\b|n't\b|cannot|unsupported|invalid|\bonly\b|不支持)"
TOOL_CALLS = r"((tool|function)[ _-]?calls?\b|tool_use blocks?|工具调用)"
# templates of Llama: This model only supports single tool-calls at once!
# Bedrock behind a gateway that sends each result in a message of its own: Expected toolResult blocks
SINGLE = regex(
    rf"\b(single|one|1) {TOOL_CALLS}|(multiple|parallel|more than one|并行)\W?{TOOL_CALLS}.{{0,30}}({NOT}|$)"
    rf"|{TOOL_CALLS} must have length 1|不支持并行|expected toolresult blocks|number of toolresult blocks"
)
# Mistral through a broker: Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.
SHORT_IDS = regex(r"\bids?\b.{0,160}length (of )?9\b")

_BOILERPLATE = "into the target type"  # of servers in Rust, which speak of no type

_FIELD_PREFIX = "without "
_UNKNOWN = regex(
    r"unknown|unrecogni[sz]ed|unexpected|cannot find field|extra (inputs|fields)|additional propert|extraneous"
    r"|not (permitted|allowed|supported)|unsupported|forbidden"
)
# Anthropic: messages.65.content.1.tool_use.text: Extra inputs are not permitted
_OF_BLOCK = regex(r"messages\.\d+\.content\.\d+\.(\w+\.(?!cache_control)\w+): extra inputs")
# what a model or a tool wrote, which may have a key of the same name
_CONTENTS = ("input", "args", "arguments", "response")


class RefusedForms:
    """The forms of messages that the servers of models need.

    `refusals` has the words, in lower case, by which servers ask for each form; the first match decides. `fields` are
    optional fields of messages and of their parts: one that a server does not know is left out.
    """

    def __init__(self, refusals: Mapping[str, re.Pattern[str]], fields: Sequence[str] = ()) -> None:
        self._refusals = refusals
        self._fields = fields
        self._chosen: dict[str, frozenset[str]] = {}

    def of(self, model: str) -> frozenset[str]:
        return self._chosen.get(model, frozenset())

    def learn(self, model: str, error: LlmError, encode: Callable[[], bytes]) -> bool:
        """Remember a form that `error` asks for. Return whether a request is different in this form.

        `encode` returns the request in the forms that are chosen.
        """
        known = self.of(model)
        asked = [name for name in self._asked(error) if name not in known]
        before = encode() if asked else b""
        for name in asked:
            self._chosen[model] = known | {name}
            if encode() != before:
                return True
        self._chosen[model] = known
        return False

    def _asked(self, error: LlmError) -> Iterator[str]:
        text = refusal_text(error)
        yield from (f"{_FIELD_PREFIX}{found}" for found in _OF_BLOCK.findall(text))
        if _UNKNOWN.search(text):
            for name in self._fields:
                snake = re.sub("([A-Z])", r"_\1", name).lower()
                if re.search(rf"(?a:(?<!\w)({name.lower()}|{snake})(?!\w))", text):
                    yield f"{_FIELD_PREFIX}{name}"
        yield from find_forms(self._refusals, text)


def refusal_text(error: LlmError) -> str:
    """Return the words, in lower case, by which a server may refuse a form; "" for another error."""
    if not is_refusal(error) or (isinstance(error, InvalidRequestError) and error.retryable):
        return ""  # what the model wrote is refused, not what it was asked
    return f"{error.param} {error}".lower().replace(_BOILERPLATE, "")


def find_forms(refusals: Mapping[str, re.Pattern[str]], text: str) -> Iterator[str]:
    """Yield the forms that these words ask for."""
    return (name for name, words in refusals.items() if text and words.search(text))


def without_fields(messages: Sequence[bytes], chosen: Collection[str]) -> list[bytes]:
    """Return encoded messages without the fields that the server does not know, `TYPE.NAME` only in parts of a type."""
    names = frozenset(name.removeprefix(_FIELD_PREFIX) for name in chosen if name.startswith(_FIELD_PREFIX))
    return [_without(message, names) for message in messages] if names else [*messages]


@lru_cache(maxsize=4096)  # the messages of a conversation are the same bytes in each request
def _without(encoded: bytes, names: frozenset[str]) -> bytes:
    return encode_json(_removed(json.loads(encoded), names))


def _removed(value: Any, names: frozenset[str]) -> JsonValue:
    if isinstance(value, list):
        return [_removed(item, names) for item in value]
    if not isinstance(value, dict):
        out: JsonValue = value
        return out
    kind = value.get("type")
    kept = {key: inner for key, inner in value.items() if not {key, f"{kind}.{key}"} & names}
    return {key: inner if key in _CONTENTS else _removed(inner, names) for key, inner in kept.items()}
