"""Parse the calls that models write as text, in the forms that they were trained on. Pure.

A call is a name with arguments, inside of tags that differ by model:

    {"name": "glob", "arguments": {"pattern": "*.py"}}          Hermes, Qwen, Llama, Mistral, Granite, Nemotron, …
    <function=glob><parameter=pattern>*.py</parameter></function>                        Qwen Coder, Seed
    <invoke name="glob"><parameter name="pattern">*.py</parameter></invoke>              MiniMax, DeepSeek, Muse
    glob<arg_key>pattern</arg_key><arg_value>*.py</arg_value>                            GLM
    functions.glob:0<|tool_call_argument_begin|>{"pattern": "*.py"}                      Kimi
    function<|tool_sep|>glob ```json {"pattern": "*.py"}```                              DeepSeek
    commentary to=functions.glob<|constrain|>json<|message|>{"pattern": "*.py"}          gpt-oss
    glob[ARGS]{"pattern": "*.py"}                                                        Mistral
    [glob(pattern="*.py")]                                                               Llama, LFM
    call:glob{pattern:<|"|>*.py<|"|>}                                                    Gemma
    {tool => "glob", args => {--pattern "*.py"}}                                         MiniMax
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import islice
from typing import Any

from agent_ls.llm.providers.call_names import offered_name
from agent_ls.patterns import regex

_BARS = "｜|‖¦│❘"  # DeepSeek's dialect comes with each of them
MARKS = (
    "<tool_call>", "<tool_calls>", "<tool-use>", "<tool_use>",
    "<function=", "[TOOL_CALLS]", "[TOOL_CALL]", "[TOOL_REQUEST]", "<|python_tag|>",
    "<|python_start|>", "<|tool_call_start|>", "<|tool_call|>", "<|tool_call>", "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<minimax:tool_call>", "]<]minimax[>[<",
    "<seed:tool_call>", "<function_calls>", "<invoke name=", "<atem:function_calls>", "<atem:invoke name=",
    "<antml:function_calls>", "<antml:invoke name=", "<TOOLCALL>", "<tools>", "functools[", "<|action_start|>",
    "<|START_ACTION|>", "<|start|>assistant", "<|channel|>commentary to=", "<|channel|>analysis to=",
    "commentary to=functions.", "TOOL_CALL", "<<<TOOL_CALL", "[[TOOL_CALL", "< | DSML |",
    *(f"<{bars}DSML" for bar in _BARS for bars in (bar, bar * 2)),
)  # fmt: skip
"""What a line begins with that may be a call."""

_MINIMAX = "]<]minimax[>["  # before each tag of MiniMax-M3
_DSML = regex(rf"<(/?)\s*[{_BARS}]{{1,2}}\s*DSML\s*[{_BARS}]{{1,2}}\s*")

# tags around calls, between them, and after the last one
_TAGS = regex(
    r"(?:\s|[;,]|</?(?:function|tool_calls?|tool[-_]use|minimax:tool_call|seed:tool_call|(?:\w+:)?function_calls|TOOLCALL|tools)>"
    r"|</?｜DSML｜(?:function_calls|tool_calls|tool_use|calls)>|\[(?:END_)?TOOL_REQUEST\]|functools(?=\[)"
    r"|[\[<]*(?:/|END_|BEGIN_)?TOOL_CALLS?(?:_BLOCK|_START|_BEGIN|_END)?[\]>:]+"
    r"|<\|/?(?:python_tag|python_start|python_end|tool_calls?|tool_call_(?:start|end|begin)|action_(?:start|end)|plugin"
    r"|tool_calls_section_(?:begin|end)|START_ACTION|END_ACTION|eom_id|eot_id|im_end|end|call|return|endoftext)\|>"
    r"|<\|tool_call>|<tool_call\|>|<｜tool▁calls?▁(?:begin|end)｜>|<｜end▁of▁sentence｜>|</s>|<end_of_turn>)+"
)
_FUNCTION = regex(r"<(?:function=|｜DSML｜r=)([^>\s]+)>\s*(.*?)\s*(</function>|<｜DSML｜m>|\Z)", re.DOTALL)
_USE = regex(
    r"<parameter=(?:tool_)?name>\s*([^<>\s]+)\s*</parameter>\s*(.*?)\s*(</tool[_-](?:use|call)>|\Z)",
    re.DOTALL,
)
_PARAMETER = regex(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_LAST_CLOSED = regex(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>(?=\s*(?:<parameter=|\Z))", re.DOTALL)
_UNCLOSED = regex(r"<parameter=([^>\s]+)>\n?(.*?)\n?(?:</parameter>|(?=\n\s*<parameter=)|\Z)", re.DOTALL)
_INVOKE = regex(
    r'<(?:｜DSML｜|\w+:)?invoke name="?([^">]+)"?>\s*(.*?)\s*(?:</(?:｜DSML｜|\w+:)?invoke>|\Z)', re.DOTALL
)
_INVOKED = regex(
    r'<(?:｜DSML｜|\w+:)?parameter name="?([^">]+?)"?(?: string="(true|false)")?>(.*?)</(?:｜DSML｜|\w+:)?parameter>',
    re.DOTALL,
)
_NAMED = regex(r"<(\w+)>(.*?)</\1>", re.DOTALL)
_PAIRS = regex(r"([\w.:/-]+)\s*((?:<arg_key>.*?</arg_value>\s*)+)", re.DOTALL)
_PAIR = regex(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_BEFORE_JSON = (
    regex(r"<function=([\w.:/-]+?)\s*[=>]?\s*(?=\{)"),
    regex(r"([\w.:/-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*"),
    regex(r"(?:function\s*)?<｜tool▁sep｜>\s*([\w.:/-]+)\s*(?:```json)?\s*"),
    regex(r"([\w.:/-]+)\s*<｜tool▁sep｜>\s*"),
    regex(
        r"(?:<\|start\|>assistant)?\s*(?:<\|channel\|>)?(?:commentary|analysis) to=([\w.:/-]+)"
        r"[^<{]*(?:<\|constrain\|>\s*\w+)?\s*(?:<\|message\|>)?\s*"
    ),
    regex(r"([\w.:/-]+)(?:\[CALL_ID\]\w+)?\[ARGS\]\s*"),
    regex(r"([\w.:/-]+)(?=\{)"),
)
_ARROWS = regex(r'\{\s*tool\s*=>\s*"([^"]+)"\s*,\s*args\s*=>\s*\{(.*?)\}\s*\}', re.DOTALL)
_DASHED = regex(r'--([\w-]+)\s+("(?:[^"\\]|\\.)*"|[^\n]*)')
_GEMMA = regex(r"call:([\w.:/-]+)\s*(\{.*?\})(?=\s*(?:<tool_call\|>|<\|tool_call>|\Z))", re.DOTALL)
_GEMMA_KEY = regex(r"(?<=[{,])\s*([A-Za-z_]\w*)\s*:")
_GEMMA_TEXT = regex(r'<\|"\|>(.*?)<\|"\|>', re.DOTALL)
_PYTHON_LIST = regex(r"\[\s*[A-Za-z_][\w.]*\(")
_MAX_ENDS = 100  # brackets that are tried as the end of such a list
_FENCE_END = regex(r"\s*```")
_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "params", "input", "tool_input", "action_input")


@dataclass(frozen=True, slots=True)
class PrintedCall:
    """A call found in text. `arguments` is a JSON object as text."""

    name: str
    arguments: str


def parse_calls(text: str, tools: Collection[str]) -> tuple[list[PrintedCall], str]:
    """Return the calls at the start of `text` (possibly none), and the text after these calls."""
    calls: list[PrintedCall] = []
    rest = _skip_tags(_DSML.sub(r"<\1｜DSML｜", text.replace(_MINIMAX, "")))
    while rest:
        found = next((found for form in _FORMS if (found := form(rest, tools))), None)
        if found is None:
            break
        calls += found[0]
        rest = _skip_tags(found[1])
    return calls, rest


def is_mark(text: str) -> bool:
    """Return whether a text is only a tag around calls, of which the last bracket may lack."""
    said = _DSML.sub(r"<\1｜DSML｜", text.replace(_MINIMAX, "")).strip()
    return any(not _skip_tags(said + end) for end in ("", ">"))


_Found = tuple[list[PrintedCall], str] | None


def _skip_tags(text: str) -> str:
    found = _TAGS.match(text)
    return text[found.end() :] if found else text


def _json_form(text: str, tools: Collection[str]) -> _Found:
    """An object that is a call, or a list of them."""
    if not text.startswith(("{", "[")):
        return None
    value, rest = _json_at(text)
    if isinstance(value, dict) and isinstance(inner := value.get("tool_calls"), list):
        value = inner
    made = [_json_call(item, tools) for item in (value if isinstance(value, list) else [value])]
    calls = [call for call in made if call is not None]
    return (calls, rest) if calls and len(calls) == len(made) else None


def _json_call(value: Any, tools: Collection[str]) -> PrintedCall | None:
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    inner: dict[str, Any] = function if isinstance(function, dict) else value
    name = next((inner[key] for key in _NAMES if isinstance(inner.get(key), str)), "")
    arguments = next((holder[key] for holder in (inner, value) for key in _ARGUMENTS if key in holder), None)
    if isinstance(arguments, str):
        arguments = parse_json(arguments)
    return _call(name, arguments, tools)


def _call(name: str, arguments: Any, tools: Collection[str]) -> PrintedCall | None:
    """Return a call of an offered tool; None for another name, or arguments that are no object."""
    meant = offered_name(name.strip(), tools)
    is_call = meant in tools and isinstance(arguments, dict)
    return PrintedCall(meant, json.dumps(arguments, ensure_ascii=False)) if is_call else None


def _one(call: PrintedCall | None, rest: str) -> _Found:
    return ([call], rest) if call else None


def _function_form(text: str, tools: Collection[str]) -> _Found:
    if not (found := _FUNCTION.match(text) or _USE.match(text)):
        return None
    if found[2].startswith("{") or not found[2]:
        return _one(_call(found[1], parse_json(found[2] or "{}"), tools), text[found.end() :])
    parameters = _parameters(found[2], is_ended=bool(found[3]))
    return _one(_call(found[1], parameters or None, tools), text[found.end() :])


def _parameters(text: str, *, is_ended: bool) -> dict[str, Any]:
    """Return the parameters of a call. The end of one may lack, also at the call's end, or be a part of a value."""
    ends = text.count("</parameter>") - text.count("<parameter=")
    written = (_UNCLOSED if ends < 0 and is_ended else _LAST_CLOSED if ends > 0 else _PARAMETER).findall(text)
    if all(re.fullmatch(r" \S(.*\S)? ", value) for _, value in written):  # each is set apart by spaces
        written = [(name, value[1:-1]) for name, value in written]
    return {name: _value(value) for name, value in written}


def _invoke_form(text: str, tools: Collection[str]) -> _Found:
    if not (found := _INVOKE.match(text)):
        return None
    if found[2].startswith("{"):
        value, _ = _json_at(found[2])
        return _one(_call(found[1], value, tools), text[found.end() :])
    parameters = {
        name: written if is_text == "true" else _value(written)
        for name, is_text, written in _INVOKED.findall(found[2])
    } or {name: _value(written) for name, written in _NAMED.findall(found[2])}
    is_broken = bool(found[2]) and not parameters
    return _one(None if is_broken else _call(found[1], parameters, tools), text[found.end() :])


def _pairs_form(text: str, tools: Collection[str]) -> _Found:
    if not (found := _PAIRS.match(text)):
        return None
    parameters = {name.strip(): _value(written) for name, written in _PAIR.findall(found[2])}
    return _one(_call(found[1], parameters, tools), text[found.end() :])


def _named_json_form(text: str, tools: Collection[str]) -> _Found:
    """A name, a separator and the arguments as JSON."""
    for form in _BEFORE_JSON:
        if (found := form.match(text)) and text.startswith("{", found.end()):
            value, rest = _json_at(text[found.end() :])
            if call := _call(found[1], value, tools):
                fence = _FENCE_END.match(rest) if "```" in found[0] else None
                return [call], rest[fence.end() :] if fence else rest
    return None


def _python_form(text: str, tools: Collection[str]) -> _Found:
    """A list of calls in the syntax of Python, with named arguments that are literals."""
    if not _PYTHON_LIST.match(text):
        return None
    ends = (at for at, char in enumerate(text) if char == "]")
    for end in islice(ends, _MAX_ENDS):
        try:
            found = ast.parse(text[: end + 1].strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        made = [_python_call(item, tools) for item in found.elts] if isinstance(found, ast.List) else []
        calls = [call for call in made if call]
        return (calls, text[end + 1 :]) if calls and len(calls) == len(made) else None
    return None


def _python_call(node: ast.expr, tools: Collection[str]) -> PrintedCall | None:
    if not isinstance(node, ast.Call) or node.args:
        return None
    try:
        arguments = {it.arg: ast.literal_eval(it.value) for it in node.keywords if it.arg}
        json.dumps(arguments)
    except (ValueError, TypeError):
        return None
    return _call(ast.unparse(node.func), arguments, tools)


def _arrow_form(text: str, tools: Collection[str]) -> _Found:
    if not (found := _ARROWS.match(text)):
        return None
    written = {name: parse_json(value) or value.strip() for name, value in _DASHED.findall(found[2])}
    return _one(_call(found[1], written, tools), text[found.end() :])


def _gemma_form(text: str, tools: Collection[str]) -> _Found:
    if not (found := _GEMMA.match(text)):
        return None
    texts: list[str] = []

    def keep(quoted: re.Match[str]) -> str:
        texts.append(quoted[1])
        return f'"\x00{len(texts) - 1}"'

    bare = _GEMMA_KEY.sub(r'"\1":', _GEMMA_TEXT.sub(keep, found[2]))
    return _one(_call(found[1], _put_back(parse_json(bare), texts), tools), text[found.end() :])


def _put_back(value: Any, texts: list[str]) -> Any:
    match value:
        case str() if value.startswith("\x00"):
            return texts[int(value[1:])]
        case dict():
            return {key: _put_back(item, texts) for key, item in value.items()}
        case list():
            return [_put_back(item, texts) for item in value]
    return value


def _value(text: str) -> Any:
    """Parse the value of a parameter: JSON numbers, literals and structures. Other text is returned unchanged."""
    value = parse_json(text)
    return text if value is None or isinstance(value, str) else value


def parse_json(text: str) -> Any:
    """Return the value of a JSON text, in which line ends within texts are allowed; None if it is none."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _json_at(text: str) -> tuple[Any, str]:
    """Return the JSON value at the start, and the text after it. A lacking last bracket is added."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        head, tag, tail = text.partition("</tool_call>")
        return (parse_json(f"{head.rstrip()}}}"), tag + tail) if tag else (None, text)
    return value, text[end:]


_FORMS: tuple[Callable[[str, Collection[str]], _Found], ...] = (
    _json_form, _function_form, _invoke_form, _pairs_form, _named_json_form, _python_form, _gemma_form,
    _arrow_form,
)  # fmt: skip
