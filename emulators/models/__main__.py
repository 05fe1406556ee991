"""`python -m emulators.models [--port PORT]`: both stubs until Ctrl-C; prints the variables to set."""

from __future__ import annotations

import argparse
import signal
import threading

from emulators.models.server import ModelStubs


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m emulators.models", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with ModelStubs(parser.parse_args().port) as stubs:
        for name, value in stubs.environment().items():
            print(f"{name}={value}", flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
