"""Name the tools that a provider's error mentions by their position in the request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.llm.errors import InvalidRequestError
from agent_ls.llm.requests import ToolDefinition

# function_declarations[93] / functionDeclarations.93 / tools[3].function / tools.3.custom.input_schema
_DECLARED = re.compile(r"function_?declarations\W{1,2}(\d+)", re.IGNORECASE)
# Groq: 'tools' : maximum number of items is 128 / OpenAI: Invalid 'tools': array too long.
_TOO_MANY = re.compile(
    r"\btools\b.{0,40}(maximum number|too (long|many)|at most)|too many tools", re.IGNORECASE
)
_LISTED = re.compile(r"\btools\W{1,2}(\d+)")


def name_refused_tools(error: InvalidRequestError, tools: Sequence[ToolDefinition]) -> None:
    """Add the names of the tools to the error's message and hint, because only agent-ls knows the positions.

    Where the request has too many tools, the hint says how many.
    """
    text = str(error)
    places = _DECLARED.findall(text) or _LISTED.findall(text)
    names = [tools[int(place)].name for place in dict.fromkeys(places) if int(place) < len(tools)]
    if not names:
        if _TOO_MANY.search(text):
            error.hint = (
                f"This request offers {len(tools)} tools. Disable some of them or their MCP servers, or choose another "
                "model."
            )
        return
    which = f"the tool {names[0]}" if len(names) == 1 else f"the tools {', '.join(names)}"
    error.args = (f"{text} (this is {which})",)
    advice = "Disable it or its MCP server, or choose another model."
    error.hint = f"The provider does not accept the definition of {which}. {advice}"
