"""Run the command line as on a system without POSIX: `without_posix.py ARGUMENT …`.

What Windows lacks is taken away once Python's own modules and libraries have loaded, which have other code there. What
cannot be simulated so: its paths, its console, and how its files behave.
"""

import os
import select
import signal
import sys

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

from tidelog.cli import program  # noqa: E402 - afterwards

program()
