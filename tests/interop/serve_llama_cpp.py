"""Serve a GGUF file by llama.cpp on a free port: serve_llama_cpp.py FILE CONTEXT TOKENS. TOKENS is the most that
an answer may have. Prints the address, ends with stdin.

Runs in the environment of the rig. It is llama.cpp's own server, loaded as a library.
"""

from __future__ import annotations

import sys

import xllamacpp


def main() -> None:
    file, context, tokens = sys.argv[1:]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = file
    parameters.n_ctx = int(context)
    parameters.n_parallel = 1
    parameters.n_predict = int(tokens)  # small models rarely end by themselves
    parameters.cpuparams.n_threads = 2
    parameters.use_jinja = True
    parameters.warmup = False
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.endpoint_props = True
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
