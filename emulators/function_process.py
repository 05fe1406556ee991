"""One instance of one function, under the production server of functions-framework.

    python -m emulators.function_process SOURCE SIGNATURE FD

FD is a listening socket that the parent opened: it keeps its port, and what has not been accepted yet, when
the instance is killed and another takes over.
"""

from __future__ import annotations

import sys

from functions_framework import create_app
from functions_framework._http import create_server


def main() -> None:
    source, signature, descriptor = sys.argv[1:4]
    app = create_app(target="main", source=source, signature_type=signature)  # type: ignore[no-untyped-call]
    create_server(app, False, bind=f"fd://{descriptor}").run("127.0.0.1", 0)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
