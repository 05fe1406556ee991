"""Small files of several formats, each with a phrase that no other has."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import dataclass
from textwrap import wrap

from docx.document import Document
from openpyxl.workbook import Workbook

from tests.office_samples import document, workbook
from tests.pdf_samples import drawn, lines

# Weights: the formats that are cheap to read come more often.
_FORMATS = {"md": 8, "txt": 6, "html": 4, "csv": 3, "xlsx": 2, "pdf": 1, "docx": 1}
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeio"]
_WORDS = (
    *("the harbour", "its lamps", "a numbered crate", "two people", "the ledger", "every boat", "the island"),
    *("keeps", "opens", "writes into", "leaves with", "waits for", "counts", "before the hour of"),
    *("salt", "timber", "rope", "mail", "in the morning", "at low water", "and", "or", "without"),
)


@dataclass(frozen=True, slots=True)
class File:
    """`phrase` stands somewhere in the text of `data`, and in no other file."""

    name: str
    data: bytes
    phrase: str


def make_files(count: int, seed: int) -> list[File]:
    """Equal seeds make equal files."""
    chance = random.Random(seed)
    kinds = chance.choices(list(_FORMATS), weights=list(_FORMATS.values()), k=count)
    return [_file(chance, number, kind) for number, kind in enumerate(kinds)]


def _file(chance: random.Random, number: int, kind: str) -> File:
    keeper = "".join(chance.choices(_SYLLABLES, k=4)).capitalize()
    # The number makes it unique, whatever chance says.
    phrase = f"The lamp of {keeper} is number {keeper[:2]}{number:04d}"
    paragraphs = [_paragraph(chance) for _ in range(chance.choice((2, 3, 4, 30)))]
    paragraphs.insert(chance.randrange(len(paragraphs)), f"{phrase}. {_paragraph(chance)}")
    data = {
        "md": _markdown,
        "txt": _text,
        "html": _html,
        "csv": _csv,
        "docx": _docx,
        "xlsx": _xlsx,
        "pdf": _pdf,
    }[kind](keeper, paragraphs)
    return File(f"{keeper.lower()}-{number}.{kind}", data, phrase)


def _paragraph(chance: random.Random) -> str:
    return f"{' '.join(chance.choices(_WORDS, k=chance.randrange(30, 90)))}.".capitalize()


def _markdown(title: str, paragraphs: list[str]) -> bytes:
    half = len(paragraphs) // 2
    parts = [f"# Crates of {title}", *paragraphs[:half], "## Ledger", *paragraphs[half:]]
    return "\n\n".join(parts).encode()


def _text(title: str, paragraphs: list[str]) -> bytes:
    return "\n\n".join([title, *paragraphs]).encode()


def _html(title: str, paragraphs: list[str]) -> bytes:
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return f"<!doctype html><title>{title}</title><body><h1>{title}</h1>{body}</body>".encode()


def _csv(title: str, paragraphs: list[str]) -> bytes:
    target = io.StringIO()
    rows = csv.writer(target)
    rows.writerow(["Keeper", "Place", "Remark"])
    rows.writerows([title, number, paragraph] for number, paragraph in enumerate(paragraphs))
    return target.getvalue().encode()


def _docx(title: str, paragraphs: list[str]) -> bytes:
    def build(made: Document) -> None:
        made.add_heading(title, 1)
        for paragraph in paragraphs:
            made.add_paragraph(paragraph)

    return document(build)


def _xlsx(title: str, paragraphs: list[str]) -> bytes:
    def build(made: Workbook) -> None:
        sheet = made.active
        sheet.title = title
        sheet.append(["Place", "Remark"])
        for number, paragraph in enumerate(paragraphs):
            sheet.append([number, paragraph])

    return workbook(build)


def _pdf(title: str, paragraphs: list[str]) -> bytes:
    wrapped = [line for paragraph in [title, *paragraphs] for line in [*wrap(paragraph, 80), ""]]
    pages = [wrapped[start : start + 45] for start in range(0, len(wrapped), 45)]
    return drawn(*(lines(*page) for page in pages))
