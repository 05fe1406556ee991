"""Generated Markdown in many scripts, for tests of what must hold for any text."""

from __future__ import annotations

import random

from hypothesis import strategies as st

_WORDS = {
    "latin": [
        "the",
        "council",
        "reviews",
        "its",
        "budget",
        "for",
        "water",
        "supply",
        "and",
        "energy",
        "in",
        "March",
    ],
    "chinese": ["去年", "该市", "人口", "增长了", "百分之三", "政府", "计划", "新建", "学校", "和", "医院"],
    "japanese": ["昨年", "市の", "人口は", "三パーセント", "増加", "しました", "多くの", "人が"],
    "hebrew": ["שלום", "עולם", "המועצה", "דנה", "בתקציב", "של", "העיר"],
    "emoji": ["👩‍👩‍👧", "🇫🇷", "👍🏽", "❤️", "party", "🎉", "now"],
    "thai": ["ประชากร", "ของเมือง", "เพิ่มขึ้น", "ร้อยละสาม"],
}
_JOIN = {"chinese": "", "japanese": "", "thai": ""}
_STOP = {"chinese": "。", "japanese": "。", "thai": " "}


def sentence(rng: random.Random, script: str) -> str:
    words = [rng.choice(_WORDS[script]) for _ in range(rng.randint(4, 14))]
    return _JOIN.get(script, " ").join(words) + _STOP.get(script, ".")


def paragraph(rng: random.Random, script: str = "latin", sentences: int = 5) -> str:
    return _JOIN.get(script, " ").join(sentence(rng, script) for _ in range(rng.randint(1, sentences)))


def table(rng: random.Random, rows: int, columns: int = 3) -> str:
    def row(cells: list[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    lines = [row([f"Column {i}" for i in range(columns)]), row(["---"] * columns)]
    lines += [
        row([f"P-{rng.randrange(10**6)}-{r}", *[str(r * i) for i in range(1, columns)]]) for r in range(rows)
    ]
    return "\n".join(lines)


def fence(rng: random.Random, lines: int) -> str:
    body = "\n".join(f"# step {i} of {rng.randrange(10**6)}\n\tcall({i})" for i in range(lines))
    return f"```python\n{body}\n```"


def document(rng: random.Random, script: str, blocks: int, *, headings: bool = True) -> str:
    """A document of paragraphs, lists, tables, code and quotes, most of them short."""
    parts = []
    for number in range(blocks):
        kind = rng.randrange(12)
        if headings and kind < 3:
            parts.append("#" * rng.randint(1, 4) + f" Part {number} {sentence(rng, script)[:40]}")
        elif kind == 3:
            parts.append("\n".join(f"- {sentence(rng, script)}" for _ in range(rng.randint(1, 8))))
        elif kind == 4:
            parts.append(table(rng, rng.choice([2, 5, 40])))
        elif kind == 5:
            parts.append(fence(rng, rng.choice([1, 4, 30])))
        elif kind == 6:
            parts.append("> " + sentence(rng, script))
        elif kind == 7 and headings:
            parts.append(f"Underlined {number}\n" + "-" * 12)
        elif kind == 8:
            parts.append("[" + str(number) + "]: https://example.org/" + str(number))
        elif kind == 9:
            parts.append("x" * rng.choice([30, 3_000]))
        else:
            parts.append(paragraph(rng, script))
    return "\n\n".join(parts) + "\n"


def documents(blocks: int = 60) -> st.SearchStrategy[str]:
    """Whole documents, drawn by a seed, so that hypothesis finds failing ones quickly again."""
    return st.builds(
        lambda seed, script, size: document(random.Random(seed), script, size),
        st.integers(0, 10**6),
        st.sampled_from(sorted(_WORDS)),
        st.integers(1, blocks),
    )
