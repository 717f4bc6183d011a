"""The two Python programs that start the remote end.

ONE_LINE is passed as an argument: it has no quotes and no characters that a shell could change. It reads
PROGRAM from its input and runs it. PROGRAM also runs on Python 3.6, so that it can report a Python that is
too old.
"""

from __future__ import annotations

GREETING = b"agent-ls-remote 1 "
"""Prefix of each line that the remote end prints while it starts.

Lines without the prefix are output of the login: the message of the day, output of a shell profile.
"""

ONE_LINE = "import sys;f=sys.stdin.buffer;exec(f.read(int(f.readline())))"

PROGRAM = r"""
import hashlib, json, os, sys, tempfile
out = os.dup(1)
os.dup2(2, 1)
def say(**what):
    data = b"agent-ls-remote 1 " + json.dumps(what).encode("ascii") + b"\n"
    while data:
        data = data[os.write(out, data):]
def start():
    temporary = ""
    header = json.loads(f.readline().decode("utf-8"))
    if sys.version_info < (3, 11):
        return say(problem="version", version="%d.%d.%d" % sys.version_info[:3], program=sys.executable)
    if os.name != "posix":
        return say(problem="system", version=sys.platform)
    def is_whole(path):
        try:
            with open(path, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest() == header["sha"]
        except OSError:
            return False
    home = os.path.expanduser("~")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    folder = os.path.join(cache, "agent-ls")
    path = os.path.join(folder, "remote-" + header["sha"] + ".zip")
    if is_whole(path):
        say(have=True)
    else:
        say(have=False)
        data = f.read(header["size"])
        if hashlib.sha256(data).hexdigest() != header["sha"]:
            return say(problem="digest")
        reasons = []
        for make in (lambda: os.makedirs(folder, 0o700, True) or folder, lambda: tempfile.mkdtemp(prefix="agent-ls-")):
            try:
                place = make()
                path = os.path.join(place, "remote-" + header["sha"] + ".zip")
                part = path + "." + str(os.getpid())
                with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(data)
                os.rename(part, path)
                break
            except OSError as error:
                reasons.append(str(error))
                try:
                    os.unlink(part)
                except (OSError, NameError):
                    pass
        else:
            return say(problem="write", reason="; ".join(reasons))
        if place != folder:
            temporary = place
    sys.path.insert(0, path)
    sys.dont_write_bytecode = True
    try:
        from agent_ls.environments.remote import end, leftovers
    except Exception as error:
        return say(problem="import", reason="%s: %s" % (type(error).__name__, error))
    say(ready=True, name=leftovers.own_name(), pid=os.getpid(), version="%d.%d.%d" % sys.version_info[:3])
    end.main(f, out, temporary)
start()
"""
