"""`python -m shared.ingest.extract PATH`: what a file becomes, as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from shared.domain.errors import AlmanacError
from shared.ingest.chunk import chunk
from shared.ingest.extract import extract


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m shared.ingest.extract", description=__doc__)
    parser.add_argument("path", type=Path, help="the file to read")
    path: Path = parser.parse_args().path
    try:
        extraction = extract(path.read_bytes(), name_hint=path.name)
    except OSError as error:
        parser.error(f"{path} cannot be read: {error.strerror}")
    except AlmanacError as error:
        sys.stderr.write(f"{error.code}: {' '.join(f'{error.message}. {error.hint}'.split())}\n")
        return 1
    sections = [
        {"title": c.title, "heading_path": c.heading_path, "text": c.text, "start": c.start, "end": c.end}
        for c in chunk(path.name, extraction)
    ]
    report = {
        "markdown": extraction.markdown,
        "sections": sections,
        "coverage": asdict(extraction.coverage),
        "title": extraction.title,
        "language": extraction.language,
        "pages": [asdict(page) for page in extraction.pages],
        "notes": extraction.notes,
    }
    sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
