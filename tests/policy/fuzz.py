"""Generate command lines with harmful payloads, and run in a real bash those that policy allows without a question.

A payload makes a file, or prints a secret from outside the workspace. The workspace also has files whose names look
like options, links that lead outside, and harmful programs with the names of harmless ones.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Situation
from agent_ls.services.permissions.paths import places_of, read_effect_facts

SECRET = "the-secret-outside"
BATCH = 40


def _parts() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in Path(__file__).with_name("fuzz.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            section = found.setdefault(line[3:], [])
        elif line and not line.startswith("# "):
            section.append(line.replace("⏎", "\n").replace("⇥", "\t"))
    return found


PARTS = _parts()
EVERYDAY = [
    line
    for line in Path(__file__).with_name("everyday.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#") and "sleep" not in line and "tail -f" not in line
]
NOISE = "\\'\"`$(){}[]<>|&;*?!#~=:,-+@%^ \n\t\r" + "\u00a0\u2028\u200b"


def commands(seed: int, count: int) -> Iterator[str]:
    """Yield `count` random command lines, which depend only on `seed`."""
    chance = random.Random(seed)
    for _ in range(count):
        if chance.random() < 0.3:
            text = _damaged(chance, chance.choice(EVERYDAY))
            while chance.random() < 0.5:
                text = _damaged(chance, text)
        else:
            text = _line(chance, chance.choice((1, 1, 2, 2, 3)))
            if chance.random() < 0.25:
                text = _damaged(chance, text)
        yield text


def placed(seed: int, payloads: Sequence[str]) -> Iterator[str]:
    """Yield each of `payloads` nested in one to three shell constructs, which depend only on `seed`."""
    chance = random.Random(seed)
    kinds = [*PARTS["frames"], *(f"echo {place}" for place in PARTS["places"])]
    for payload in payloads:
        text = payload
        for _ in range(chance.choice((1, 1, 2, 3))):
            frame = chance.choice(kinds)
            text = frame.replace("{}", text, 1).replace("{}", chance.choice(PARTS["looks"]))
        yield text


def _line(chance: random.Random, depth: int) -> str:
    if depth <= 0:
        return _simple(chance)
    frame = chance.choice(PARTS["frames"])
    pieces = frame.split("{}")
    filled = [piece + _line(chance, depth - chance.choice((1, 2))) for piece in pieces[:-1]]
    return "".join((*filled, pieces[-1]))


def _simple(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.05:
        return chance.choice(PARTS["payloads"])
    text = chance.choice(PARTS["looks"])
    if kind < 0.12:
        text += " " + chance.choice(PARTS["places"]).replace("{}", chance.choice(PARTS["payloads"]))
    elif kind < 0.4:
        text += " " + " ".join(chance.choice(PARTS["words"]) for _ in range(chance.choice((1, 1, 2, 3))))
    elif kind < 0.48:
        words = text.split()
        text = f"{words[0]} {chance.choice(PARTS['words'])} {' '.join(words[1:])}"
    elif kind < 0.53:
        words = chance.choice(PARTS["payloads"]).split()
        text += " " + " ".join(words[1:])
    return text


def _damaged(chance: random.Random, text: str) -> str:
    at = chance.randrange(len(text) + 1)
    match chance.randrange(5):
        case 0:
            return text[:at] + chance.choice(NOISE) + text[at:]
        case 1:
            return text[:at] + text[at + 1 :]
        case 2:
            return text[:at] + chance.choice(PARTS["places"]).replace("{}", "touch made") + text[at:]
        case 3:
            words = text.split(" ")
            words.insert(chance.randrange(len(words) + 1), chance.choice(PARTS["words"]))
            return " ".join(words)
        case _:
            other = chance.randrange(len(text) + 1)
            return text[: min(at, other)] + text[max(at, other) :]


@dataclass(frozen=True, slots=True)
class Scratch:
    """A workspace in `folder` with files, links and programs that reveal a harmful command."""

    folder: Path

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def places(self) -> Places:
        found = places_of(str(self.work))
        return Places(found.roots, str(self.folder / "home"), found.is_ignored)

    def build(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("work/src", "work/bin", "work/1", "work/sub dir", "outside", "home", "tmp"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "outside/secret.txt").write_text(SECRET + "\n")
        (self.folder / "outside/m.jq").write_text(f'def x: "{SECRET}";\n')
        (self.folder / "home/home.txt").write_text(SECRET + "\n")
        work = self.work
        for name, text in {
            "a.txt": "x 1\ny 2\n", "b.txt": "z\n", "src/x.py": "import x\n", "c.json": "{}\n", "a b": "x\n",
            "sub dir/a.txt": "x\n",
            "evil.txt": "-v a[$(touch\tmade)]\n",
            "names.txt": "../outside/secret.txt\n", "names0.txt": "../outside/secret.txt\0", "n ..": "", "made.d": "",
            "-exec": "x\n", "--pre=sh": "", "-o": "", "-f": "x\n", "--output=made": "", "-R": "", "-rf": "",
            "-o.json": "{}\n", "-c.sh": "touch made\n", "l.sh": "touch made\n", "-Lout.json": "{}\n",
            "x": '#!/bin/sh\ntouch "$(dirname "$0")/made"\n', "bin/cat": '#!/bin/sh\ntouch made\n',
            "1/cat": "#!/bin/sh\n> made\n", "version": "open('made', 'w')\n",
        }.items():  # fmt: skip
            (work / name).write_text(text)
        for name in ("x", "bin/cat", "1/cat"):
            (work / name).chmod(0o755)
        (work / "link").symlink_to("../outside/secret.txt")
        (work / "out").symlink_to("../outside")
        (work / "src/l.py").symlink_to("../../outside/secret.txt")
        for name in ("nl\nlink", "--link", "-l"):
            (work / name).symlink_to("../outside/secret.txt")
        (work / "a:").symlink_to("../outside")
        (work / ".env").write_text(f"KEY={SECRET}\n")
        (work / "names -print0.txt").write_text("../outside/secret.txt\n")
        subprocess.run(["tar", "cf", "t.tar", "a.txt"], cwd=work, check=True)
        for words in (
            ["init", "-q", "-b", "main"],
            ["add", "a.txt", "src"],
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
        ):
            subprocess.run(["git", *words], cwd=work, check=True, env=self.environ)

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "LC_ALL": "C.UTF-8",
        }

    def is_silent(self, command: str) -> bool:
        """Return whether a session in mode ask would run the command without a question."""
        effect = CommandEffect(command, str(self.work))
        seen = read_effect_facts(effect, self.places)
        situation = Situation(
            "ask",
            self.places,
            resolved=seen.resolved,
            leads=seen.leads,
            doubt=seen.doubt,
            config=seen.config,
            folders_exist=seen.folders_exist,
        )
        return isinstance(judge(effect, situation), Allow)

    def run(self, command: str, shell: Sequence[str] = ("bash",)) -> bytes:
        with subprocess.Popen(
            [*shell, "-c", command],
            cwd=self.work,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                return process.communicate(timeout=2)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return process.communicate()[0]

    def snapshot(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for folder, folders, names in os.walk(self.folder):
            if folder == str(self.folder / "home"):  # where npm and rustup keep their logs and settings
                folders[:] = [name for name in folders if not name.startswith(".")]
            for name in (*folders, *names):
                path = os.path.join(folder, name)
                facts = os.lstat(path)
                if not name.startswith("index"):  # git changes its index file even for read-only commands
                    found[path] = (
                        facts.st_mode,
                        *((0, 0) if os.path.isdir(path) else (facts.st_size, facts.st_mtime_ns)),
                    )
        return found


def harmed(scratch: Scratch, silent: list[str]) -> Iterator[str]:
    """Run the commands, and yield those that changed a file or printed the secret from outside the workspace."""
    scratch.build()
    for start in range(0, len(silent), BATCH):
        before = scratch.snapshot()
        batch = silent[start : start + BATCH]
        shown = [command for command in batch if SECRET.encode() in scratch.run(command)]
        yield from shown
        if scratch.snapshot() != before:
            yield from _that_changed(scratch, batch)
            scratch.build()


def _that_changed(scratch: Scratch, batch: list[str]) -> Iterator[str]:
    for command in batch:
        scratch.build()
        before = scratch.snapshot()
        scratch.run(command)
        if scratch.snapshot() != before:
            yield command
