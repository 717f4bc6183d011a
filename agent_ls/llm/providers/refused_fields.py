"""Leave out optional fields of a request that a server or a proxy refuses, and remember them for its model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from agent_ls.llm.errors import InvalidRequestError, LlmError, ProviderError, ServerError, is_refusal
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.error_leads import UNSTATED
from agent_ls.llm.providers.notices import LeftOutNotices
from agent_ls.llm.requests import Request
from agent_ls.patterns import regex

_NEGATED = (
    r"(\bnot|n't|\bcannot|\bnever)( \w+)? (support|permit|allow|available|enabled|accept|recogni|understood|understand"
    r"|applicable|implement|expected|work|take|be (set|used|specified|combined|sent))"
)
_REFUSED = regex(
    rf"{_NEGATED}|unsupported|unrecogni[sz]ed|unknown (name|field|parameter|argument|key)|unexpected|forbidden"
    r"|no longer support|deprecated|illegal|extra (inputs|fields)|cannot find field|additional propert"
    r"|invalid (parameter|field|argument|param)|not a valid (parameter|field|argument|property|option)"
    r"|must be verified|is not valid under|only (be )?(supported|used)|use 'max_completion_tokens'"
    r"|no endpoints found that support|unavailable|only [\w.()=`]+ (is|are) (allowed|supported|accepted)|is mandatory"
    r"|incompatible|cannot both|mutually exclusive|is only (enabled|available|allowed)|extraneous"
    r"|(should|must) not exist|unpermitted|expected never|not be mapped|definition for this key is missing"
    r"|no such (field|parameter|property|argument|key)"
    r"|maximum of \d+ blocks|不支持|不被支持|不允许|未知(的)?(参数|字段)|参数(无效|非法|不合法)",
    re.IGNORECASE,
)
# A refused value. examples: temperature may only be set to 1 / `reasoning_effort` must be one of `none` or `default`
_VALUE = regex(
    r"\bmust (be|have|start|contain)\b|should (be|have|match)|may (only|not) be|does not match any|unknown variant"
    r"|supported (\w+ )?values|out of range|\b\d+ is invalid|\bfield required",
    re.IGNORECASE,
)
# A list of what is known, which does not name what is refused: unknown field `a`, expected one of `b`, `c`
_KNOWN = regex(
    r"((expected|must be|should be) one of|(supported|allowed|valid|known) (fields|parameters|arguments|keys))\b.*",
    re.IGNORECASE | re.DOTALL,
)
_OWN_NAME = regex(r"_|[A-Z]|^temperature$")  # a name that is no ordinary word
# fields whose value matters: they are left out only for a server that does not know them
_KEPT = regex(r"max|stop|^stream$|^store$")


# Hugging Face, with status 500: strict=True is not supported for Qwen Coder model.
_UNSUPPORTED = regex(
    r"\bnot (be |currently |yet |been )*supported|unsupported|(does|do)(n't| not) support|incompatible .{0,30}param"
    r"|unexpected keyword argument|literal_error|extra_forbidden|input should be",
    re.IGNORECASE,
)


# fields that a request has on trial without a reason to refuse them: not what decides how the model answers
_NEVER_TRIED = regex(r"max|stop_?seq|^stop$|^stream$|^store$|choice", re.IGNORECASE)
_ABOUT_SCHEMA = regex(r"\bschema\b", re.IGNORECASE)
_OF_ANSWERS = regex(r"format|response", re.IGNORECASE)
# Thinking mode does not support this tool_choice: what follows is refused, not what does the refusing
_OBJECT = regex(
    r"(\bnot|n't|\bcannot) (support|allow|accept|permit|take)s? ((this|the|any|an?|your) )?\W?", re.IGNORECASE
)
_DOTTED = regex(r"[\w\[\]]+(\.[\w\[\]]+)*\.")
_FIELD_AROUND = regex(r"(?:^|[^.\w])(?:body\.|request\.)?(\w+)\.$", re.IGNORECASE)


class RefusedFields:
    """The refused fields of each model.

    `droppable` are dotted paths of fields that a request can do without, each with a pattern of other words by which
    errors name the field, "" for none. `notices` get a warning for a field that the user set. A request that is refused
    without a reason is sent once more without optional fields: a proxy may speak any API.
    """

    def __init__(self, droppable: Mapping[str, str], notices: LeftOutNotices) -> None:
        self._droppable = droppable
        self._notices = notices
        self._refused: dict[str, tuple[str, ...]] = {}
        self._on_trial: dict[str, tuple[str, ...]] = {}  # left out at the last unexplained refusal of a model

    def learn(
        self, request: Request, error: LlmError, body: JsonObject, chosen: Collection[str] = ()
    ) -> bool:
        """Remember the field of `body` that `error` refuses. Return whether there is a new one.

        `chosen` are fields that the user's own options set: their refusal is reported.
        """
        if not is_refusal(error):
            return False
        text, known = f"{error.param} {error}", self._refused.get(request.model, ())
        places: dict[str, tuple[int, ...]] = {}
        for path, words in self._asked(error, text):
            if path in known or path.partition(".")[0] in chosen or not _has(body, path.split(".")):
                continue
            place = _place(_KNOWN.sub("", text), path, words)
            if place is not None and not self._is_of_another(text, path, place[0]):
                places[path] = place
        if not places:
            return self._learn_unstated(request, error, body, chosen)
        # The error is about the field that it names first, and there about the innermost.
        ends = [found.end() for found in _OBJECT.finditer(text)]
        nearest = min(places, key=lambda path: (places[path][0] not in ends, places[path]))
        first = _last_of_path(text, places, nearest)
        self._leave_out(request, next((path for path in places if path.startswith(f"{first}.")), first))
        return True

    def _leave_out(self, request: Request, *paths: str) -> None:
        self._refused[request.model] = (*self._refused.get(request.model, ()), *paths)
        for path in paths:
            self._notices.add_left_out(request, path)

    def _learn_unstated(
        self, request: Request, error: LlmError, body: JsonObject, chosen: Collection[str]
    ) -> bool:
        """Leave out what few servers know if a request is refused without a reason: the format of the answer, then all
        optional fields at once. If that is refused, too, it was none of them.
        """
        model = request.model
        if not isinstance(error, InvalidRequestError):
            return False
        is_unstated = UNSTATED.search(str(error)) is not None
        if not is_unstated and not (request.response_format and _ABOUT_SCHEMA.search(str(error))):
            return False
        if is_unstated and (tried := self._on_trial.get(model)):
            self._refused[model] = tuple(path for path in self._refused.get(model, ()) if path not in tried)
            self._on_trial[model] = ()
            for path in tried:
                self._notices.withdraw_left_out(request, path)
            return False
        free = (path for path in self._droppable if path.partition(".")[0] not in chosen)
        left = [path for path in free if not self.has(model, path) and _has(body, path.split("."))]
        if request.response_format and (found := next(filter(_OF_ANSWERS.search, left), None)):
            self._leave_out(request, found)
            return True
        left = [path for path in left if not _NEVER_TRIED.search(path)]
        if not is_unstated or not left or model in self._on_trial:
            return False
        self._on_trial[model] = tuple(left)
        self._leave_out(request, *left)
        return True

    def _asked(self, error: LlmError, text: str) -> Iterator[tuple[str, str]]:
        """Yield the fields that an error may be about, each with the other words that name it.

        An error about a request in words that are not known is about a field if it has the field's name, unless that
        is an ordinary word.
        """
        if (_UNSUPPORTED if isinstance(error, ServerError) else _REFUSED).search(text):
            yield from self._droppable.items()
        elif isinstance(error, InvalidRequestError):
            is_value = _VALUE.search(text) is not None
            fields = {path: words for path, words in self._droppable.items() if not _KEPT.search(path)}
            known = [path for path in fields if _OWN_NAME.search(path.rpartition(".")[2])]
            if not any(
                _place(text, path, "") for path in known
            ):  # ordinary words count where no other name does
                known += [path for path in fields if path == _param(error) or _is_marked(text, path)]
            for path, words in fields.items():
                if is_value or path in known:
                    yield path, words if is_value else ""

    def _is_of_another(self, text: str, path: str, begin: int) -> bool:
        """Return whether the name at `begin` is of a field within another one, as in reasoning.max_tokens."""
        found = _FIELD_AROUND.search(text[:begin])
        outer = path.partition(".")[0]
        return bool(
            found and found[1] != outer and any(p.partition(".")[0] == found[1] for p in self._droppable)
        )

    def without(self, model: str, body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return `body` without the fields that the server refuses for this model."""
        out = dict(body)
        for path in self._refused.get(model, ()):
            out = _removed(out, path.split("."))
        return out

    def has(self, model: str, path: str) -> bool:
        return path in self._refused.get(model, ())


def _param(error: LlmError) -> str:
    return error.param if isinstance(error, ProviderError) else ""


def _is_marked(text: str, path: str) -> bool:
    """Return whether an ordinary word is marked as the name of a field: quoted, in a path, or called one."""
    before = r"\binvalid `?|['\"`]|[\w\]]\.|\bbody\.|\b(property|field|parameter|argument|key)\W{1,2}"
    return re.search(rf"({before}){path.rpartition('.')[2]}\b(?!\.)", text) is not None


def _last_of_path(text: str, places: Mapping[str, tuple[int, ...]], first: str) -> str:
    """Return the last field of the dotted path that has `first`, as in content.0.thinking.cache_control."""
    begin = places[first][0]
    inside = [path for path, (at, *_) in places.items() if at > begin and _DOTTED.fullmatch(text[begin:at])]
    return max(inside, key=lambda path: places[path], default=first)


def _place(text: str, path: str, words: str) -> tuple[int, ...] | None:
    """Return where an error names the field, in snake case or camel case, with or without the fields around it.

    The field's own name counts more than other words at the same place.
    """
    outer, _, name = path.rpartition(".")
    snake = re.sub("([A-Z])", r"_\1", name).lower()
    forms = [name, snake, snake.replace("_", " "), snake.replace("_", "")]
    if outer:  # xAI says reasoningEffort for reasoning.effort
        forms.append(f"{outer.rpartition('.')[2]}[_ .]?{name}")
    # ASCII: a name may touch Chinese words, as in max_tokens参数非法
    named = rf"(?a:(?<!\w)({'|'.join(forms)})(?!\w))" + (f"|{words}" if words else "")
    found = re.search(named, text, re.IGNORECASE)
    return (found.start(), -len(found[0]), found[1] is None) if found else None


def _has(value: JsonValue, steps: Sequence[str]) -> bool:
    """Return whether the field is there. A field of a list is one of each of its items."""
    if isinstance(value, list):
        return any(_has(item, steps) for item in value)
    if not steps:
        return True
    return isinstance(value, Mapping) and steps[0] in value and _has(value[steps[0]], steps[1:])


def _removed(body: Mapping[str, JsonValue], steps: Sequence[str]) -> dict[str, JsonValue]:
    first, *rest = steps
    out = {key: value for key, value in body.items() if key != first or rest}
    inner = out.get(first)
    if rest and isinstance(inner, list):
        out[first] = [_removed(item, rest) if isinstance(item, Mapping) else item for item in inner]
    elif rest and isinstance(inner, Mapping):
        out[first] = _removed(inner, rest)
        if not out[first]:
            del out[first]
    return out
