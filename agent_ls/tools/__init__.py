"""The tools that a model can call, usually one file per tool. Tools have no other access than their ToolContext."""
