"""Measure how long the policy takes to judge a command line: `python -m benchmarks.judging`.

The lines are everyday commands, the corpus of the tests, random lines of the fuzzer, and lines built to be slow to
analyse. The printed times are CPU times of the analysis, which reads no files.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from agent_ls.policy.shell.understand import understand
from tests.policy.corpus import corpus
from tests.policy.fuzz import commands
from tests.policy.test_everyday import LINES

PARTS = (
    '$(', '(', "'", '"$(', '{', 'ls;', 'ls|', 'ls&&', 'for a in 1 2 3; do ', 'if ', 'case x in ',
    '`', '*', '[', '[a]', 'a ', '\\', '/[a', 'a=:@,/', '-exec ls \\; ', 'xargs ', 'env ',
    "bash -c '", 'a=b ', '>/dev/null ', '$a', '-n a -a ', '1+', 'a(', 'x() { ', '<', '>', '<<a ',
    '&', '! ', 'cd a;', 'cd a || ', '../', '.*/', '@(', '${x:-', '[[ ', 's/a/b/;', 'a',
)  # fmt: skip
STARTS = ("", "ls ", "echo ", "sed '", "awk '", "find . ", "cat <<E\n", "git log ")


def milliseconds(lines: Sequence[str]) -> list[float]:
    found = []
    for line in lines:
        start = time.process_time()
        understand(line, working_dir="/w", home="/home/u")
        found.append((time.process_time() - start) * 1000)
    return sorted(found)


def main() -> None:
    understand("ls", working_dir="/w", home="/home/u")
    slow = [
        start + part * (size // len(part)) for start in STARTS for part in PARTS for size in (4_900, 60_000)
    ]
    for name, lines in (
        ("everyday", LINES),
        ("corpus", [text for text, _ in corpus()]),
        ("fuzzer", list(commands(1, 5_000))),
        ("made to be slow", slow),
    ):
        times = milliseconds(lines)
        p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
        print(
            f"{name:16} {len(times):6} lines   p50 {p50:6.2f} ms   p99 {p99:6.2f} ms   max {times[-1]:6.2f} ms"
        )


if __name__ == "__main__":
    main()
