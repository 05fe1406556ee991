from __future__ import annotations

import pytest

from shared.domain.units import UnitKind, plain, units

DOCUMENT = """# Leave policy

Employees get **20 days** of paid leave. See [the page](http://host/a_(b)) for more.
It is
wrapped.

> A quoted rule applies.

- First item
  goes on
- Second ![picture](http://tracker/p.png)item
1) third

| Role | Days |
|:---|---:|
| Engineer | 20 |
| Lead \\| head | |

```py
# not a heading
```
## 休假
员工有
二十天年假。经理有二十五天。
"""


def test_reads_every_kind_of_block() -> None:
    assert [(unit.kind.value, unit.text, unit.heading) for unit in units(DOCUMENT)] == [
        ("heading", "Leave policy", ""),
        ("sentence", "Employees get 20 days of paid leave.", "Leave policy"),
        ("sentence", "See the page for more.", "Leave policy"),
        ("sentence", "It is wrapped.", "Leave policy"),
        ("sentence", "A quoted rule applies.", "Leave policy"),
        ("item", "First item goes on", "Leave policy"),
        ("item", "Second item", "Leave policy"),
        ("item", "third", "Leave policy"),
        ("row", "Role: Engineer; Days: 20", "Leave policy"),
        ("row", "Role: Lead | head", "Leave policy"),
        ("code", "```py\n# not a heading\n```", "Leave policy"),
        ("heading", "休假", "Leave policy"),
        ("sentence", "员工有二十天年假。", "休假"),
        ("sentence", "经理有二十五天。", "休假"),
    ]


def test_rows_without_a_header_stand_alone() -> None:
    assert [unit.text for unit in units("| a | b |\n| c | d |")] == ["a; b", "c; d"]


def test_a_fence_inside_a_longer_fence_does_not_close_it() -> None:
    found = units("````\n```\ninner\n```\n````\nAfter.")
    assert [unit.kind for unit in found] == [UnitKind.CODE, UnitKind.SENTENCE]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("a <b>bold</b> <!-- hidden --> claim", "a bold claim"),
        ("![alt](https://evil/x?d=1) seen", "seen"),
        ("5 < 6 and 7 > 3", "5 < 6 and 7 > 3"),
        ("2 ** 3 ** 4", "2 ** 3 ** 4"),
    ],
)
def test_plain_text(markdown: str, text: str) -> None:
    assert plain(markdown) == text


@pytest.mark.parametrize("mark", ["[", "![", "**a", "](", "[a](", "<!--", "<a", "|", "- ", "> "])
def test_hostile_markup_is_read_in_linear_time(mark: str) -> None:
    """A chunk full of openings that nothing closes; a quadratic expression would take hours here."""
    assert len(units(mark * 44_000)) < 44_000
