"""Run commands as on a system without POSIX: `without_posix.py COMMAND …`, each of them in one argument.

What Windows lacks is taken away once Python's own modules and libraries have loaded, which have other code there. What
cannot be simulated so: its paths, its console, and how its files behave. Each command reads what this process was given. For
each of them its exit code and what it said are printed, as JSON in a line.
"""

import json
import os
import select
import signal
import sys
import tempfile
from contextlib import ExitStack

import anyio
import trio

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
NAMES = {
    os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK fork getuid geteuid pread pwrite killpg sysconf",
    select: "poll",
    signal: "SIGALRM SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 setitimer ITIMER_REAL pthread_sigmask",
}

assert anyio.__name__ and trio.__name__  # what they need is there already
for name in MODULES:
    sys.modules[name] = None  # type: ignore[assignment]
for module, names in NAMES.items():
    for name in names.split():
        delattr(module, name)

from tidelog.cli import main  # noqa: E402 - afterwards

told = os.fdopen(os.dup(1), "w")
given = sys.stdin.buffer.read()
for command in sys.argv[1:]:
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(given)
        for descriptor, file in enumerate(files):
            file.flush()
            file.seek(0)
            os.dup2(file.fileno(), descriptor)
        sys.stdin = stack.enter_context(open(0, closefd=False))
        sys.stdout, sys.stderr = (stack.enter_context(open(descriptor, "w", closefd=False)) for descriptor in (1, 2))
        code = main(command.split())
        sys.stdout.flush()
        sys.stderr.flush()
        for file in files:
            file.seek(0)
        print(json.dumps([code, *(file.read().decode() for file in files[1:])]), file=told, flush=True)
os._exit(0)
