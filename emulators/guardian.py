"""Ends what a dead parent left behind.

Run as a script with nothing but the standard library. Its parent writes `+GROUP` when it starts a process
group and `-GROUP` when it has ended one. The pipe closes when the parent is gone, however it went; every
group that is still on the list is then killed.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main()
