"""Lines in which names, numbers or text come from elsewhere: scripts of find, arrays, xargs, expressions, options."""

from __future__ import annotations

import random
from collections.abc import Iterator

PLACES = (
    "link",
    "src/l.py",
    "../outside/secret.txt",
    "out/secret.txt",
    ".env",
    "a.txt",
    "nl\nlink",
    "-l",
    "~/home.txt",
)
CODE = (
    "touch made",
    "cat link",
    "cat .env",
    "cat out/secret.txt",
    "cat ../outside/secret.txt",
    ". ./x",
    'eval "$1"',
)
FINDS = (
    "find .", "find . -type f", "find . -maxdepth 1 -type f", "find src", "find . -name '*.txt'", "find -L . -type f",
    "find . -type l", "find . -name .env", "find out/", "find . -type f -o -name link", "find * -maxdepth 0",
    "find . ! -type d", "find . -follow -type f", "find . -name a.txt -type f", "find src -name x.py -type f",
)  # fmt: skip
SCRIPTS = (
    'cat "$1"', "cat $1", 'cat "${1}"', 'cat "$@"', 'cat "$*"', 'cat "$0"', 'head -3 < "$1"', 'sh "$1"', '. "$1"',
    '"$1"', 'cd src; cat "$1"', '(cd src && cat "$1")', 'cat "src/$1"', 'cat "$1.x"', 'cat "$1" > made',
    'cp "$1" made', 'set -- PLACE; cat "$1"', 'shift; cat "$1"', 'f() { cat "$1"; }; f PLACE', 'x="$1"; cat "$x"',
    'eval "$1"', 'test -f "$1" && cat "$1"', '[ -f "$1" ] && grep -n "" "$1"', 'sed -n 1p "$1"', 'sort -o made "$1"',
    'sort "$1"', 'awk -f "$1"', 'awk "{print}" "$1"', 'bash -c \'cat "$1"\' _ PLACE',
    'for f in "$1"; do cat "$f"; done',
    'while read -r l; do cat "$l"; done < "$1"', 'xargs cat < "$1"', 'echo "$1" | xargs cat', 'tee "$1"', 'CODE',
    'echo "$(cat "$1")"', 'cat <"$1" | head', 'CODE "$1"', 'read -r x < "$1"; echo "$x"', 'cat -- "$1" PLACE',
    'echo "$1"; CODE', 'git log --oneline -- "$1"', 'wc -l "$1" PLACE', 'jq . "$1"', 'printf "$1"', 'printf -v x "$1"',
)  # fmt: skip
ENDS = ("\\;", "+", "';'", "\\; -exec touch made \\;", "\\; -print", "\\; -delete")
SHELLS = ("sh", "bash", "dash", "/bin/sh", "bash -e", "zsh", "busybox sh", "env sh")
NAMES = ("_", "sh", "x", "PLACE", "{}", "'' ", "_ PLACE", "'$(touch made)'")
FILLERS = (
    "mapfile -t NAME < FROM", "readarray -t NAME < FROM", "mapfile NAME < FROM", "mapfile -t -C 'CODE' -c1 NAME < FROM",
    "mapfile -tC 'CODE' NAME < FROM", "mapfile -t -O 2 NAME < FROM", "mapfile -t < FROM", "read -r NAME _ < FROM",
    "read -ra NAME < FROM", "IFS=, read -r _ NAME _ < FROM", "mapfile -t NAME < <(CODE)", "FROM | mapfile -t NAME",
    "while IFS=: read -r NAME _; do USE; done < FROM", "mapfile -t -u 0 NAME < FROM", "mapfile -t 'NAME' < FROM",
)  # fmt: skip
VARIABLES = (
    "x",
    "f",
    "files",
    "PATH",
    "IFS",
    "BASH_ENV",
    "a[$(touch${IFS}made)]",
    "HOME",
    "_",
    "PWD",
    "PAGER",
    "$x",
)
USES = (
    'echo "${NAME[@]}"', 'printf "%s\\n" "${NAME[@]}"', 'printf "${NAME[@]}"', 'cat "${NAME[@]}"', 'cat "$NAME"',
    "cat $NAME", "echo $((NAME))", "echo $((${NAME[0]}))", '[ "$NAME" -eq 1 ]', '[[ "$NAME" -eq 1 ]]', '"${NAME[@]}"',
    "echo ${NAME[@]}", 'for f in "${NAME[@]}"; do cat "$f"; done', 'for f in "${NAME[@]}"; do echo "$f"; done',
    'test -v "$NAME"', 'cd "$NAME"; cat secret.txt', 'echo "${NAME[@]:0:2}"', 'cat "${NAME[@]:0:2}"', "cat $_",
    'cat "$_"', 'echo PLACE; cat "$_"', 'eval "$NAME"', 'printf "%s\\n" "${NAME[@]:$(touch made):1}"', "ls", "git log",
    'printf "%d\\n" "${NAME[@]}"', 'echo "${#NAME[@]}"', 'sed -n "${NAME}p" a.txt', 'head -n "$NAME" a.txt',
    'echo "${NAME[@]@P}"', 'echo "${!NAME}"', 'n=1; echo "$((n + NAME))"', 'let NAME=1', 'unset "NAME[$(touch made)]"',
)  # fmt: skip
FROM = (
    "evil.txt",
    "a.txt",
    "names.txt",
    "link",
    ".env",
    "<(git ls-files)",
    "<(cat evil.txt)",
    "/dev/stdin",
    "names0.txt",
)
LISTS = (
    "cat evil.txt",
    "cat names.txt",
    "git ls-files",
    "find . -type f",
    "seq 1 3",
    "ls",
    "printf '%s\\n' a link",
)
XARGS = (
    "xargs printf '%s\\n'", "xargs printf", "xargs -n1 printf 'a %d\\n'", "xargs -I{} printf '{}\\n'",
    "xargs -I{} printf '%s\\n' {}", "xargs -I{} printf '%s {}' x", "xargs printf '%s' | xargs cat",
    "xargs printf '%s\\n' | while read -r f; do cat \"$f\"; done", "xargs printf -v x", "xargs -I% sh -c 'printf %'",
    "xargs printf '%n'", "xargs bash -c 'printf \"$@\"'", "xargs printf '%b' | sh", "xargs -a names.txt printf '%s'",
    "xargs printf '%s\\n' > made", "xargs -n1 printf '%s\\n' PLACE", "xargs printf \"$(cat link)\"",
)  # fmt: skip
OTHERS = (
    "cd src && f=PLACE; cat \"$f\"", "cd src && f=x.py; cat \"$f\" PLACE", "cd src || f=x.py; cat \"$f\"",
    "cd nowhere && f=a.txt; cat \"$f\"", "cd src && f=../link && cat $f", "true && cd src && f=l.py; cat $f",
    "cd src && HOME=..; cat ~/link", "cd src && PATH=.; ls", "false && cd src && f=a.txt; cat \"$f\"",
    "cd src && f=x.py & cat \"$f\"", "! cd src && f=PLACE; cat \"$f\"", "cd src && cd .. && f=PLACE; head $f",
    "cd src && IFS=x; ls", "cd src && f='-o made'; sort $f x.py", "cd src && f=-omade; sort \"$f\" x.py",
    "cd src && f=*; cat $f", "cd src && f=$(CODE); echo \"$f\"", "cd src && f=x.py | cat; cat \"$f\"",
    "cd src && { f=PLACE; }; cat \"$f\"", "cd src && f=touch; $f made", "cd src && f=x.py; f=PLACE; cat \"$f\"",
    "cd src && for f in x.py; do cat \"$f\"; done; cat \"$f\" PLACE", "cd src && read -r f < x.py; cat \"$f\"",
    "cd src 2>/dev/null && f=PLACE; cat \"$f\"", "(cd src && f=x.py); cat \"$f\"", "cd -P src && f=l.py; cat \"$f\"",
    "cd 'src' && f=l.py && cat \"$f\"", "cd out && f=secret.txt; cat \"$f\"", "cd src/.. && f=link; cat \"$f\"",
    "bash -c 'cd src && f=l.py; cat \"$f\"'", "x=$(cd src && f=l.py; cat \"$f\"); echo \"$x\"",
    "gzip -l */PLACE", "gzip -l src/*", "gzip -c src/*", "gzip -c *", "gzip -c ./*", "gzip -ck src/*.py",
    "gzip -d src/*",
    "gzip src/*", "gzip -t [.]/*", "gzip -cl src/l*", "gzip -f src/*", "gzip -c ?ink", "gzip -c {src/l.py,a.txt}",
    "gzip -c out/* | gzip -dc", "gzip -c src/* | zcat", "gzip -c src/[l].py | gzip -dc", "gzip -c src/* > made",
    "perl -ne 'print while /CODE/g' PLACE", "perl -ne 'print \"$1\" while /(.)/g' a.txt",
    "perl -ne 'print while /(?{system(q(touch made))})/g' a.txt", "perl -ne 'print while /$x/g' a.txt",
    "perl -ne 'print \"$1\\n\" while /@{[`touch made`]}/g' a.txt",
    "perl -0777 -ne 'print \"$1\\n\" while /(\\w+)/g' PLACE",
    "perl -ne 'print while s/x/`touch made`/e' a.txt", "perl -ne 'print while /x/ge' a.txt",
    "perl -ne 'print while <F>' a.txt",
    "node -e \"console.log('x'.match(/x/))\"", "node -e \"console.log('x'.match(/x/.constructor.constructor('1')()))\"",
    "node -e \"console.log('x'.search(/[/]require('child_process').execSync('touch made')/))\"",
    "node -e \"console.log('x'.match(/x/g),require('child_process').execSync('touch made'))\"",
    "node -e \"console.log(1 /require('fs').writeFileSync('made','')/ 2)\"",
    "node -e \"console.log('a'.match(/]/), process.mainModule.require('fs').writeFileSync('made','')/g)\"",
    "node -e \"const s='x'; console.log(s.match(/\\)/)||require('fs').writeFileSync('made',''))\"",
    "node -e \"console.log(require('fs').readFileSync('PLACE','utf8').match(/.+/g))\"",
    "node -e \"console.log('x'.replace(/x/,[].constructor.constructor('require(1)')))\"",
    "node -e \"console.log(/x/.exec('x'), 'x'.search(/[/](/*/), require('fs').writeFileSync('made',''))\"",
    "echo $((16#ff))", "echo $((16#$(touch made)))", "x='a[$(touch made)]'; echo $((16#x))",
    "echo $((16#ff + x[$(touch made)]))",
    "n=3; echo $((10#$n))", "x='a[$(touch${IFS}made)]'; echo $((8#7 + x))", "echo $((2#1, PATH=1))",
    "printenv", "printenv PATH KEY", "printenv KEY", "printenv $x", "printenv -0", "printenv PATH > made",
    "printenv CI TOKEN",
    "printenv \"$(cat link)\"", "printenv PATH | xargs touch made", "printenv --null", "printenv PA*",
    "printenv CI '' KEY",
    "python3 -c \"import xml.etree.ElementTree as E; print([c.tag for c in E.parse('PLACE').getroot().iter()])\"",
    "python3 -c \"print(open('PLACE').iter())\"", "python3 -c \"import itertools as i; print(i.iter)\"",
    "python3 -c \"print(''.join(x.itertext() for x in open('PLACE')))\"",
)  # fmt: skip
AROUND = (
    "{}",
    "{}",
    "{}",
    "{} | head -5",
    "{}; ls",
    "ls && {}",
    "({})",
    "{} 2>/dev/null || true",
    'x=$({}); echo "$x"',
)


def lines(seed: int, count: int) -> Iterator[str]:
    """Yield `count` random lines, which depend only on `seed`."""
    choices = random.Random(seed)
    for _ in range(count):
        kind = choices.choice((_script, _filling, _piped, _other))
        line = choices.choice(AROUND).replace("{}", kind(choices))
        yield line.replace("PLACE", choices.choice(PLACES)).replace("CODE", choices.choice(CODE))


def _script(choices: random.Random) -> str:
    shell, script, name = choices.choice(SHELLS), choices.choice(SCRIPTS), choices.choice(NAMES)
    if choices.random() < 0.5:
        shell, name = "sh", "_"
    script = "; ".join([script] if choices.random() < 0.6 else [choices.choice(SCRIPTS), script])
    quoted = "'" + script.replace("'", "'\\''") + "'"
    option = choices.choice(("-exec", "-exec", "-exec", "-execdir", "-ok"))
    return f"{choices.choice(FINDS)} {option} {shell} -c {quoted} {name} {{}} {choices.choice(ENDS)}"


def _filling(choices: random.Random) -> str:
    line = f"{choices.choice(FILLERS)}; USE".replace("USE", choices.choice(USES))
    name = choices.choice(VARIABLES) if choices.random() < 0.3 else choices.choice(VARIABLES[:3])
    return line.replace("NAME", name).replace("FROM", choices.choice(FROM))


def _piped(choices: random.Random) -> str:
    return f"{choices.choice(LISTS)} | {choices.choice(XARGS)}"


def _other(choices: random.Random) -> str:
    return choices.choice(OTHERS)
