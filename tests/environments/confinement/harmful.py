"""Templates of harmful commands for a `HarmWorld`: they change something, contact a program or read credentials."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

TARGETS = ("{out}/new", "{out}/kept", "{project}/new", "{project}/kept", "{home}/new", "{home}/.bashrc",
           "{state}/rules.json", "/tmp/{mark}", "/dev/shm/{mark}", "/var/tmp/{mark}")  # fmt: skip

WRITES = (
    "echo x > T",
    "echo x >> T",
    "echo x >| T",
    "echo x &> T",
    "ls /no 2> T",
    "echo x 1<> T",
    "exec 5> T; echo x >&5",
    "echo x | tee T",
    "echo x | tee -a T",
    "cp /etc/passwd T",
    "dd if=/etc/passwd of=T count=1",
    "touch T",
    "install /etc/passwd T",
    "truncate -s 3 T",
    "sort -o T /etc/passwd",
    "awk 'BEGIN {{ print 1 > \"T\" }}'",
    "sed -n 'w T' /etc/passwd",
    "ln -s /etc T",
    "mkdir T",
    "mkfifo T",
    "rm -rf T",
    "mv T T.moved",
    "ln T T.hard",
    "cat <<'EOF' > T\nx\nEOF",
    "git config -f T a.b c",
    "tar -cf T /etc/hostname",
    "find /etc/hostname -fprint T",
    'perl -e \'open(F, ">", "T") or die; print F 1\'',
    "chmod 777 T",
    "chown 12345 T",
    "touch -d 2001-01-01 T",
    "cp --preserve=all /etc/passwd T",
    "split -n 1 /etc/hostname T",
    "echo x > /proc/self/root/T",
    "echo x > /proc/$$/root/T",
    "cd /; echo x > ./T",
    "(setsid sh -c 'echo x > T' &); sleep 0.05",
    "nohup sh -c 'echo x > T' > /dev/null; true",
    "bash -c 'echo x > T'",
    "echo 'echo x > T' | sh",
)
"""Each command is run with some of TARGETS in place of `T`."""

PYTHON_WRITES = (
    "open(T, 'w')",
    "open(T, 'a').write('x')",
    "open(T, 'x')",
    "open(T, 'r+').write('x')",
    "os.open(T, os.O_RDONLY | os.O_TRUNC)",
    "os.open(T, os.O_RDONLY | os.O_CREAT)",
    "os.truncate(T, 0)",
    "os.chmod(T, 0o777)",
    "os.lchown(T, 5, 5) if hasattr(os, 'lchown') else 0",
    "os.utime(T, (1, 1))",
    "os.setxattr(T, 'user.x', b'1')",
    "os.fchmod(os.open(T, 0), 0o777)",
    "os.utime(os.open(T, 0), (1, 1))",
    "os.setxattr(os.open(T, 0), 'user.x', b'1')",
    "os.rename(T, T + '2')",
    "os.replace(T, T + '2')",
    "os.unlink(T)",
    "os.link(T, T + '2')",
    "os.symlink('/etc', T + '2')",
    "os.mknod(T + '2')",
    "os.mkfifo(T + '2')",
    "os.mkdir(T + '2')",
    "open('/proc/self/fd/%d' % os.open(T, 0), 'w')",
    "open('/dev/fd/%d' % os.open(T, 0), 'w')",
    "fcntl.ioctl(os.open(T, 0), 0x40086602, struct.pack('i', 16))",
    "open(os.path.dirname(T) + '/new2', 'w')",
    "os.open(os.path.dirname(T), os.O_TMPFILE | os.O_RDWR)",
    "libc.syscall(452, -100, T.encode(), 0o777, 0)",
    "libc.syscall(437, -100, T.encode(), struct.pack('QQQ', 1, 0, 0), 24)",
    "libc.linkat(os.memfd_create('x'), b'', -100, (T + '2').encode(), 0x1000)",
    "mmap.mmap(os.open(T, os.O_RDWR), 1)",
    "os.chflags(T, 1)",
    "os.posix_fallocate(os.open(T, os.O_RDWR), 0, 9)",
)
"""Each call is run with some of the existing files THERE as `T`."""

THERE = ("{out}/kept", "{project}/kept", "{home}/.bashrc")

OTHERS = (
    "kill -TERM {victim}",
    "kill -KILL {victim}",
    "kill -STOP {victim}",
    "kill -0 {victim} && echo REACHED",
    "kill -0 {parent} && echo REACHED",
    "kill -WINCH {parent} && echo REACHED",
    "kill -TERM -{victim}",
    "pkill -f {victim_word}",
    "python3 -c 'import os; os.kill({victim}, 15); print(\"REACHED\")'",
    "python3 -c 'import signal, os; signal.pidfd_send_signal(os.pidfd_open({victim}), 15); print(\"REACHED\")'",
    (
        "python3 -c 'import ctypes; r = ctypes.CDLL(None).syscall(234, {victim}, {victim}, "
        '15); print("REACHED" * (r == 0))\''
    ),
    "timeout 1 kill -TERM {victim}",
    "env kill -TERM {victim}",
    "(setsid kill -TERM {victim})",
    (
        "python3 -c 'import fcntl, os, signal; r, w = os.pipe(); fcntl.fcntl(r, 8, {victim}); "
        'fcntl.fcntl(r, 10, 15); fcntl.fcntl(r, 4, 0o20000); os.write(w, b"x")\''
    ),
    (
        "python3 -c 'import ctypes; r = ctypes.CDLL(None).ptrace(16, {victim}, 0, 0); "
        'print("REACHED" * (r == 0))\''
    ),
    (
        "python3 -c 'import ctypes; r = ctypes.CDLL(None).ptrace(0x4206, {parent}, 0, 0); "
        'print("REACHED" * (r == 0))\''
    ),
    "cat /proc/{victim}/environ",
    "cat /proc/{parent}/environ",
    "strings /proc/{parent}/environ",
    "cat /proc/$PPID/environ",
    "cat /proc/*/environ 2>/dev/null",
    "head -c 100 /proc/{victim}/mem",
    "cat /proc/{victim}/maps && echo REACHED",
    "ls -l /proc/{victim}/fd/0 && echo REACHED",
    "cat /proc/{victim}/root{home}/.ssh/id_rsa",
    "cat /proc/{victim}/cwd/../home/.ssh/id_rsa",
    "echo 500 > /proc/{victim}/oom_score_adj && echo REACHED",
    "gdb -p {victim} -batch && echo REACHED",
    "python3 -c 'import resource; resource.prlimit({victim}, resource.RLIMIT_CPU, (1, 1)); print(\"REACHED\")'",
    "renice -n 5 -p {victim} && echo REACHED",
    "renice -n 9 -u $(id -u); [ $(nice) = 9 ] && echo REACHED",
    "renice -n 9 -g 0; [ $(nice) = 9 ] && echo REACHED",
    "ionice -c 3 -u $(id -u) && echo REACHED",
    'python3 -c \'import fcntl; fcntl.fcntl(open("{out}/kept"), 1024, 0); print("REACHED")\'',
    "taskset -p 1 {victim} && echo REACHED",
    "ionice -c 3 -p {victim} && echo REACHED",
    "chrt -b -p 0 {victim} && echo REACHED",
    (
        "python3 -c 'import ctypes; r = ctypes.CDLL(None).syscall(438, "
        'ctypes.CDLL(None).syscall(434, {victim}, 0), 0, 0); print("REACHED" * (r >= 0))\''
    ),
    "cat {home}/.ssh/id_rsa",
    "cat {state}/keys.json",
    "grep -r . {home}/.ssh",
    "find {home} -name id_rsa -exec cat {{}} +",
    "cat {link}",
    "cat {project}/../home/.ssh/id_rsa",
    "cd {home}/.ssh; cat id_rsa",
    "tar -cO {home}/.ssh",
    "cp {home}/.ssh/id_rsa /dev/stdout",
    "base64 -d <<< $(base64 {home}/.ssh/id_rsa)",
    "cat < {home}/.ssh/id_rsa",
    "python3 -c 'print(open(\"{home}/.ssh/id_rsa\").read())'",
    "cat /proc/self/root{home}/.ssh/id_rsa",
    "cat {home}/.netrc",
    "ln {home}/.ssh/id_rsa {project}/hard; cat {project}/hard",
    "mount --bind {home} /mnt; cat /mnt/.ssh/id_rsa",
    "unshare -rm sh -c 'mount --bind {home}/.ssh {project}; cat {project}/id_rsa'",
    "exec 3<>/dev/tcp/127.0.0.1/{port}",
    "echo x > /dev/udp/127.0.0.1/{udp}",
    "curl -s http://127.0.0.1:{port}/",
    "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'",
    'python3 -c \'import socket; socket.socket(2, 2).sendto(b"x", ("127.0.0.1", {udp}))\'',
    "python3 -c 'import socket; socket.socket(10).connect((\"::ffff:127.0.0.1\", {port}))'",
    "python3 -c 'import socket; socket.socket(1).connect(\"{sock}\")'",
    "python3 -c 'import socket; socket.socket(1).connect(\"\\0{abstract}\")'",
    'python3 -c \'import socket; a, b = socket.socketpair(1, 2); a.sendto(b"x", "{datagrams}")\'',
    "python3 -c 'import socket; a, b = socket.socketpair(1, 2); a.connect(\"{datagrams}\")'",
    "python3 -c 'import socket; socket.socket(16, 3); print(\"REACHED\")'",
    "python3 -c 'import socket; socket.socket(17, 3); print(\"REACHED\")'",
    "python3 -c 'import socket; socket.socket(40, 1); print(\"REACHED\")'",
    (
        'python3 -c \'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); '
        's.listen(); print("REACHED")\''
    ),
    "DOCKER_HOST=unix://{sock} docker ps",
    "DBUS_SESSION_BUS_ADDRESS=unix:path={sock} dbus-send --session x.y",
    "SSH_AUTH_SOCK={sock} ssh-add -l",
    "SSH_AUTH_SOCK={sock} ssh -o BatchMode=yes -p {port} 127.0.0.1 true",
    "git ls-remote http://127.0.0.1:{port}/x",
    "ping -c 1 -W 1 127.0.0.1 && echo REACHED",
    "logger REACHED-{mark}",
    (
        "python3 -c 'import ctypes; r = ctypes.CDLL(None).syscall(425, 8, "
        'ctypes.create_string_buffer(120)); print("REACHED" * (r >= 0))\''
    ),
    "setarch i386 python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'",
    (
        "python3 -c 'import ctypes; r = ctypes.CDLL(None).syscall(29, {shared}, 9, 0o1666); "
        'print("REACHED" * (r >= 0))\''
    ),
    "ipcmk -M 100 && echo REACHED",
    "ipcmk -Q && echo REACHED",
    "ipcmk -S 1 && echo REACHED",
    (
        'python3 -c \'import ctypes; r = ctypes.CDLL(None).syscall(248, b"user", b"{mark}", '
        'b"x", 1, -4); print("REACHED" * (r >= 0))\''
    ),
    "keyctl add user {mark} x @u && echo REACHED",
    "python3 -c 'import ctypes; r = ctypes.CDLL(None).syscall(250, 0, -4, 1); print(\"REACHED\" * (r >= 0))'",
    (
        "python3 -c 'import ctypes; r = ctypes.CDLL(None).syscall(321, 0, 0, 0); "
        'print(ctypes.get_errno() or "", "REACHED" * (r >= 0))\''
    ),
    "hostname $(hostname) && echo REACHED",
    'date -s "$(date)" && echo REACHED',
    "cat /proc/sys/kernel/core_pattern | tee /proc/sys/kernel/core_pattern > /dev/null && echo REACHED",
    "echo 1 > /proc/sys/vm/drop_caches && echo REACHED",
    "dmesg -n 7 && echo REACHED",
    "mount -t tmpfs none {out} && echo REACHED",
    "mount -o remount,rw / && echo REACHED",
    "umount {out} && echo REACHED",
    "chroot / true && echo REACHED",
    "unshare -r true && echo REACHED",
    "unshare -m true && echo REACHED",
    "unshare -n true && echo REACHED",
    "nsenter -t {victim} -m true && echo REACHED",
    "touch /var/spool/cron/{mark} && echo REACHED",
    "echo true | at now && echo REACHED",
    "systemd-run --user true && echo REACHED",
    "swapoff /dev/{mark} && echo REACHED",
    "losetup -f /etc/passwd && echo REACHED",
    "head -c 1 /dev/vda > /dev/null && echo REACHED",
    "head -c 1 /dev/mem > /dev/null && echo REACHED",
    "head -c 4 /proc/kcore > /dev/null && echo REACHED",
    "echo h > /proc/sysrq-trigger && echo REACHED",
    'python3 -c \'import fcntl; fcntl.ioctl(0, 0x5412, b"x"); print("REACHED")\'',
    "chattr +i {out}/kept && echo REACHED",
    "setfattr -n user.x -v 1 {out}/kept && echo REACHED",
    "git -C {project} add -A",
    "git -C {project} commit --allow-empty -m x",
    "git -C {project} gc",
    "git -C {project} stash",
    "git -C {project} config user.name x",
    "git -C {project} update-ref refs/heads/x HEAD",
    "git -C {project} worktree add ../w",
    "git -C {project} checkout -b x",
    "git -C {project} clean -fdx",
    "git init {out}/new",
    "git clone {project} {out}/new",
    "python3 -m venv {out}/new",
    "python3 -m compileall {project}",
    "python3 -c 'import this_module' && echo REACHED",
    (
        'python3 -c \'import os; f = os.memfd_create("x"); os.write(f, open("/bin/touch", '
        '"rb").read()); os.execv("/proc/self/fd/%d" % f, ["touch", "{out}/new"])\''
    ),
    "cp /bin/touch /tmp/{mark}; /tmp/{mark} {out}/new",
    "sudo -n touch {out}/new",
    "su -c 'touch {out}/new'",
    "echo x > /etc/{mark}",
    "echo x > /usr/bin/{mark}",
    "mkdir /{mark}",
    "(trap '' TERM HUP; setsid sh -c 'sleep 0.05; echo x > {out}/new' > /dev/null 2>&1 &); sleep 0.1",
    "coproc sh -c 'echo x > {out}/new'; wait",
    "echo x > >(cat > {out}/new); sleep 0.05",
    "find {out} -delete",
    "find {out} -exec rm -f {{}} +",
    "xargs rm -f <<< {out}/kept",
    "rsync -a {project}/ {out}/new",
    "vim -es -c 'w! {out}/new' -c q",
    "ed -s {out}/kept <<< $'1d\\nw\\nq'",
    "sed -i s/k/x/ {out}/kept",
    "perl -pi -e s/k/x/ {out}/kept",
    "patch {out}/kept < /dev/null; touch -r /etc {out}/kept",
    "shred {out}/kept",
    "dd if=/dev/zero of={out}/kept conv=notrunc count=1",
    "cp --reflink=always {project}/kept {out}/kept",
    (
        'python3 -c \'import os; s = os.open("/etc/passwd", 0); d = os.open("{out}/kept", 2); '
        "os.sendfile(d, s, 0, 9)'"
    ),
    (
        'python3 -c \'import os; s = os.open("/etc/passwd", 0); d = os.open("{out}/kept", 1); '
        "os.copy_file_range(s, d, 9)'"
    ),
    "script -c 'echo x' {out}/new",
    "tail -f /dev/null & kill -TERM {victim}; kill %1",
    "curl -o {out}/new file:///etc/passwd",
)


def harmful() -> Iterator[str]:
    """Yield all commands: each write with four targets, each Python call with two existing files, and all others
    once.
    """
    for number, write in enumerate(WRITES):
        yield from (write.replace("T", TARGETS[(number + step) % len(TARGETS)]) for step in (0, 2, 5, 7))
    for number, call in enumerate(PYTHON_WRITES):
        for target in (THERE[number % 3], THERE[(number + 1) % 3]):
            code = f"import ctypes, fcntl, mmap, os, struct; T = '{target}'; libc = ctypes.CDLL(None); {call}"
            yield f"python3 -c {shlex.quote(code)}"
    yield from OTHERS
