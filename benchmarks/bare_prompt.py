"""A program: send one prompt to the model of ANTHROPIC_BASE_URL, and print the answer: the floor of `agent-ls exec`.

python -m benchmarks.bare_prompt PROMPT
"""

from __future__ import annotations

import http.client
import json
import os
import sys


def main() -> None:
    connection = http.client.HTTPConnection(os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://"))
    body = {"model": "claude", "stream": True, "messages": [{"role": "user", "content": sys.argv[1]}]}
    connection.request("POST", "/v1/messages", json.dumps(body))
    for line in connection.getresponse():
        if line.startswith(b"data:"):
            sys.stdout.write(json.loads(line[5:]).get("delta", {}).get("text", ""))


if __name__ == "__main__":
    main()
