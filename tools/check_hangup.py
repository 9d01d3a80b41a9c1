#!/usr/bin/env python3
"""Starts a full-screen program on a terminal of its own, types a line, takes the terminal away, and waits for its end.

    check_hangup.py TYPED PROGRAM ARGUMENTS...

Exits with 1 if the program is still there after 20 seconds. Needs only Python, on a system with pseudo-terminals.
"""
import os
import pty
import select
import sys
import time


def read_for(terminal: int, seconds: float) -> None:
    """Reads and forgets what the program shows, so that it never waits for a full terminal."""
    until = time.monotonic() + seconds
    while (rest := until - time.monotonic()) > 0:
        if select.select([terminal], [], [], rest)[0]:
            os.read(terminal, 65536)


def main() -> int:
    typed, command = sys.argv[1], sys.argv[2:]
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(command[0], command)
    read_for(terminal, 2.0)
    os.write(terminal, typed.encode() + b"\r")
    read_for(terminal, 2.0)
    os.close(terminal)
    until = time.monotonic() + 20.0
    while time.monotonic() < until:
        if os.waitpid(process, os.WNOHANG)[0] == process:
            return 0
        time.sleep(0.1)
    os.kill(process, 9)
    os.waitpid(process, 0)
    print("still running without a terminal", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
