"""`python -m emulators.firestore`: one emulator until SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

from emulators.firestore.server import INDEXES_FILE, FirestoreEmulator


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m emulators.firestore", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of gRPC; 0 picks a free one")
    parser.add_argument("--http-port", type=int, default=0, help="of the endpoint that clears a database")
    parser.add_argument("--data-dir", type=Path, help="keeps data there; without it all is in memory")
    parser.add_argument("--indexes", type=Path, default=INDEXES_FILE, help="a firestore.indexes.json")
    parser.add_argument("--relaxed", action="store_true", help="run queries without their composite index")
    options = parser.parse_args()
    stopping = threading.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: stopping.set())
    with FirestoreEmulator(
        options.data_dir,
        options.port,
        http_port=options.http_port,
        indexes=options.indexes,
        strict_indexes=not options.relaxed,
    ) as emulator:
        print(f"FIRESTORE_EMULATOR_HOST={emulator.host}", flush=True)
        print(
            f"clear: curl -X DELETE http://{emulator.http_host}/emulator/v1/projects/P/databases/D/documents"
        )
        stopping.wait()


if __name__ == "__main__":
    main()
