"""Leave out optional fields of a request that a server or a proxy refuses, and remember them for its model."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from agent_ls.llm.errors import ContextLengthError, InvalidRequestError, LlmError, NotFoundError, ServerError
from agent_ls.llm.messages import JsonObject, JsonValue

_REFUSED = re.compile(
    r"unsupported|unrecogni[sz]ed|unknown (name|field|parameter|argument|key)|unexpected|not (be )?(supported|permitted"
    r"|allowed|available|enabled|accepted)|(does|do)(n't| not) (support|accept|allow)|no longer support|deprecated"
    r"|extra (inputs|fields)|cannot find field|additional propert|invalid (parameter|field|argument|param)"
    r"|must be verified|is not valid under|only supported|not recogni[sz]ed|use 'max_completion_tokens'"
    r"|no endpoints found that support|unavailable|only [\w.()]+ (is|are) (allowed|supported|accepted)|is mandatory"
    r"|incompatible|cannot be (used|set|specified)",
    re.IGNORECASE,
)


# Hugging Face, with status 500: strict=True is not supported for Qwen Coder model.
_UNSUPPORTED = re.compile(r"\bnot (be )?supported|unsupported|(does|do)(n't| not) support", re.IGNORECASE)


class RefusedFields:
    """The refused fields of each model.

    `droppable` are dotted paths of fields that a request can do without, each with a pattern of other words by which
    errors name the field, "" for none.
    """

    def __init__(self, droppable: Mapping[str, str]) -> None:
        self._droppable = droppable
        self._refused: dict[str, tuple[str, ...]] = {}

    def learn(self, model: str, error: LlmError, body: JsonObject, chosen: Collection[str] = ()) -> bool:
        """Remember the field of `body` that `error` refuses. Return whether there is a new one.

        `chosen` are fields that the user's own options set: their refusal is reported.
        """
        if not isinstance(error, InvalidRequestError | NotFoundError | ServerError) or isinstance(
            error, ContextLengthError
        ):
            return False
        text, known = str(error), self._refused.get(model, ())
        if not (_UNSUPPORTED if isinstance(error, ServerError) else _REFUSED).search(text):
            return False
        for path, words in self._droppable.items():
            if path in known or path.partition(".")[0] in chosen or not _has(body, path.split(".")):
                continue
            if _names(text, path) or (words and re.search(words, text, re.IGNORECASE)):
                self._refused[model] = (*known, path)
                return True
        return False

    def without(self, model: str, body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return `body` without the fields that the server refuses for this model."""
        out = dict(body)
        for path in self._refused.get(model, ()):
            out = _removed(out, path.split("."))
        return out

    def has(self, model: str, path: str) -> bool:
        return path in self._refused.get(model, ())


def _names(text: str, path: str) -> bool:
    """Return whether an error names the field, in snake case or camel case, with or without the fields around it."""
    outer, _, name = path.rpartition(".")
    snake = re.sub("([A-Z])", r"_\1", name).lower()
    forms = [name, snake, snake.replace("_", " "), snake.replace("_", "")]
    if outer:  # xAI says reasoningEffort for reasoning.effort
        forms.append(f"{outer.rpartition('.')[2]}[_ .]?{name}")
    return re.search(rf"(?<!\w)({'|'.join(forms)})(?!\w)", text, re.IGNORECASE) is not None


def _has(body: JsonObject, steps: Sequence[str]) -> bool:
    found: JsonValue = body
    for step in steps:
        if not isinstance(found, Mapping) or step not in found:
            return False
        found = found[step]
    return True


def _removed(body: Mapping[str, JsonValue], steps: Sequence[str]) -> dict[str, JsonValue]:
    first, *rest = steps
    out = {key: value for key, value in body.items() if key != first or rest}
    inner = out.get(first)
    if rest and isinstance(inner, Mapping):
        out[first] = _removed(inner, rest)
        if not out[first]:
            del out[first]
    return out
