"""`python -m emulators up`: the embedded stack in the foreground.

Without --data-dir everything is thrown away at the end. Every port is a free one on 127.0.0.1; when all
answers, --ready-file is written. SIGINT (Ctrl-C) or SIGTERM stops all of it.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from emulators.stack import EmbeddedStack

# The one emulator that the stack does not bring: its ID tokens are taken when there is one.
_AUTH_EMULATOR = "FIREBASE_AUTH_EMULATOR_HOST"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m emulators", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    up = parser.add_subparsers(dest="command", required=True).add_parser("up", help="start the stack")
    up.add_argument("--data-dir", type=Path, help="keep the data there, and find it again at the next start")
    up.add_argument("--ready-file", type=Path, help="where to write addresses and keys as JSON")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    return _up(options.data_dir, options.ready_file)


def _up(data_dir: Path | None, ready_file: Path | None) -> int:
    ended = threading.Event()
    identity = {name: os.environ[name] for name in (_AUTH_EMULATOR,) if name in os.environ}
    stack = EmbeddedStack(data_dir=data_dir, paid_models=True, env=identity)
    if ready_file is not None:
        ready_file.unlink(missing_ok=True)
    try:
        _on_signal(_give_up)
        stack.start()
        _on_signal(lambda *_: ended.set())
        _announce(stack, data_dir, ready_file)
        ended.wait()
    except (OSError, RuntimeError) as error:
        print(f"The stack did not start. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        stack.stop()
    return 0


def _on_signal(handler: Callable[[int, FrameType | None], object]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _give_up(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def _announce(stack: EmbeddedStack, data_dir: Path | None, ready_file: Path | None) -> None:
    details = stack.details()
    if ready_file is not None:
        _write_whole(ready_file, json.dumps(details, indent=2, ensure_ascii=False))
    print(f"API        {details['api_url']}  (try {details['api_url']}/docs)")
    print(f"Firestore  {details['firestore_host']}")
    print(f"Storage    {details['storage_url']}")
    print(f"Tasks      {details['tasks_host']}")
    print(f"Redis      {details['redis_url']}")
    print(f"Data       {data_dir or 'in memory'}")
    for name, account in details["accounts"].items():
        print(f"\nAccount {name}")
        for key, token in account["keys"].items():
            print(f"  {key:<12} {token}")
    print("\nCtrl-C stops it.", flush=True)


def _write_whole(path: Path, text: str) -> None:
    """A reader finds nothing or all of it. The file holds keys: only its owner reads it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as output:
        output.write(text)
    partial.replace(path)


if __name__ == "__main__":
    sys.exit(main())
