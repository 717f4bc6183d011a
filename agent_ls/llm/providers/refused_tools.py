"""Recognise errors about tools, and name the tools that an error mentions by their position in the request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.llm.errors import InvalidRequestError, LlmError, is_refusal
from agent_ls.llm.requests import ToolDefinition
from agent_ls.patterns import regex

_TOOLS = r"(tools?([ _-]?(use|call(s|ing)?))?|functions?[ _-]?call(s|ing)?)"
_ALL_TOOLS = r"(tools|tool[ _-]?(use|call(s|ing)?|support)|functions?[ _-]?call(s|ing)?)\b"
_NO_TOOLS = regex(
    # Ollama: registry.ollama.ai/library/gemma:2b does not support tools
    rf"(\bnot|n't) (currently |yet )?support {_TOOLS}\b(?![^.]* in streaming)|not supported for {_TOOLS}"
    # No tool support / model is not capable of tool use / 该模型不支持工具调用
    rf"|(\bnot|n't|\bcannot|\bno|\blacks?|without|not capable of|unable to) (support|implement|use|accept|take|handle"
    rf"|have|for|any| )*{_ALL_TOOLS}(?! (with|and|when|if|but|found|output|was|were|is|are|results?)\b|\W{{0,2}}\d)"
    r"(?![^.]* in streaming)"
    r"|support continuing the chat past the first tool call"  # Databricks
    r"|不支持.{0,12}(工具|函数调用|tool|function)"
    # OpenAI: tools is not supported in this model
    rf"|(?<!parallel )\b{_TOOLS}[`'\":]{{0,2}} ((is|are|has|have)( been)? ?)?(not|n't) "
    r"(currently |yet |been )?(supported|enabled|available|implemented|allowed|accepted|permitted|a valid)"
    rf"|(?<!parallel )\b{_TOOLS}[`'\"]? (is |are )?(unsupported|disabled|unavailable|cannot be used with this)"
    # OpenRouter: no endpoints found that support tool use / Only named tools are currently supported
    rf"|\bno [^.:]{{0,40}}\bsupports? {_TOOLS}\b|only named tools"
    # llama.cpp / vLLM: "auto" tool choice requires --enable-auto-tool-choice
    # LMDeploy: Please launch the api_server with --tool-call-parser / NIM: Only models launched with … support tools
    rf"|\b(re)?(start|launch)\w*\b.{{0,60}}(--[\w-]*tool|\w*tool_choice)|\bonly .{{1,80}} supports? {_TOOLS}\b"
    r"|tools param requires --jinja flag|\"auto\" tool choice requires"
    # Azure: Unrecognized request argument supplied: tools
    r"|(unrecogni[sz]ed|unknown|unsupported|unexpected) [^.:]{0,40}: ?(\w+, )*[`'\"]?(tools|functions)\b(?![.\[])"
    # vLLM and others that check the body by pydantic
    r"|\('body', '(tools|functions)'\)|\bbody\.(tools|functions):|(?<![.\w])(tools|functions):?\s+extra inputs"
)
"""Words, in lower case, by which servers refuse tools."""
NO_TOOLS_HINT = "Choose a model that can call tools."

# function_declarations[93] / functionDeclarations.93 / tools[3].function / tools.3.custom.input_schema
_DECLARED = regex(r"function_?declarations\W{1,2}(\d+)", re.IGNORECASE)
# Groq: 'tools' : maximum number of items is 128 / OpenAI: Invalid 'tools': array too long.
_TOO_MANY = regex(r"\btools\b.{0,40}(maximum number|too (long|many)|at most)|too many tools", re.IGNORECASE)
_LISTED = regex(r"\btools\W{1,2}(\d+)(?!\.member)")
_FROM_ONE = regex(r"\btools\.(\d+)\.member")  # Bedrock: toolConfig.tools.1.member.toolSpec.name


def refuses_tools(error: LlmError) -> bool:
    """Return whether the server says that this model cannot call tools."""
    return is_refusal(error) and _NO_TOOLS.search(str(error).lower()) is not None


def name_refused_tools(error: InvalidRequestError, tools: Sequence[ToolDefinition]) -> None:
    """Add the names of the tools to the error's message and hint, because only agent-ls knows the positions.

    Where the request has too many tools, the hint says how many.
    """
    text = str(error)
    found = [int(place) for place in _DECLARED.findall(text) or _LISTED.findall(text)]
    places = found or [int(place) - 1 for place in _FROM_ONE.findall(text)]
    names = [tools[place].name for place in dict.fromkeys(places) if 0 <= place < len(tools)]
    if not names:
        if _TOO_MANY.search(text):
            error.hint = (
                f"This request offers {len(tools)} tools. Disable some of them or their MCP servers, or choose another "
                "model."
            )
        elif refuses_tools(error) and not error.hint.startswith(NO_TOOLS_HINT[:-1]):
            error.hint = NO_TOOLS_HINT
        return
    which = f"the tool {names[0]}" if len(names) == 1 else f"the tools {', '.join(names)}"
    error.args = (f"{text} (this is {which})",)
    advice = "Disable it or its MCP server, or choose another model."
    error.hint = f"The provider does not accept the definition of {which}. {advice}"
