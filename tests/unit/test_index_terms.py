"""Text to search terms: words, scripts without spaces, codes, and that questions meet passages."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.index.terms import MAX_QUERY_TERMS, MAX_TOKEN, QueryTerm, query_terms, terms


def spellings(text: str, *languages: str) -> set[str]:
    return {spelling for term in query_terms(text, languages) for spelling in term.spellings}


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("The dogs were running to a dog", None, {"dog": 2, "run": 1}),
        ("Die Häuser der Stadt", "de", {"haus": 1, "stadt": 1}),
        ("Les étés à l'école", "fr", {"ete": 1, "ecol": 1}),
        ("Книги на столах", "ru", {"книг": 1, "стол": 1}),
        ("naïve résumé resume", "en", {"naiv": 1, "resum": 2}),
        ("don't we're Anna’s", None, {"don": 1, "anna": 1}),
        ("ＦＵＬＬ width ﬁle", None, {"full": 1, "width": 1, "file": 1}),
        ("机器学习", "zh", {"机器": 1, "器学": 1, "学习": 1}),
        ("東京タワー", "ja", {"東京": 1, "京タ": 1, "タワ": 1, "ワー": 1}),
        ("서울 대학교", "ko", {"서울": 1, "대학": 1, "학교": 1}),
        ("猫", None, {"猫": 1}),
        ("使用Python编程", "zh", {"使用": 1, "python": 1, "编程": 1}),
        ("हिन्दी", "hi", {"हिन्द": 1}),
    ],
)  # fmt: skip
def test_words_of_many_scripts(text: str, language: str | None, expected: dict[str, int]) -> None:
    assert terms(text, language) == expected


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("ERR-4711", {"err-4711", "err", "4711"}),
        ("getUserName", {"getusernam", "get", "user", "name"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("max_retry_count", {"max_retry_count", "max", "retri", "count"}),
        ("10.0.0.1", {"10.0.0.1", "10", "0", "1"}),
        ("v2.3.1", {"v2.3.1", "2", "3", "1"}),
        ("2024-05-01", {"2024-05-01", "2024", "05", "01"}),
        ("1,234.56", {"1234.56"}),
        ("12345", {"12345"}),
        ("C++", {"c++"}),
        ("C#", {"c#"}),
        ("ann@example.com", {"ann@example.com", "ann", "exampl", "com"}),
        ("SKU4711B", {"sku4711b", "sku", "4711"}),
    ],
)
def test_codes_are_kept_whole_and_split(code: str, parts: set[str]) -> None:
    assert set(terms(f"see {code}, please")) - {"see", "pleas"} == parts


def test_one_hundred_and_a_thousand_are_written_either_way() -> None:
    assert terms("1,500 units") == terms("1500 units")


def test_question_phrases_leave_no_bigrams_across_them() -> None:
    assert set(terms("什么是年假")) == {"是年", "年假"}


def test_a_question_is_spelled_under_each_language_in_scope() -> None:
    asked = query_terms("die laufenden Prozesse", ["de", "en"])
    assert QueryTerm(("die",), frozenset({"german"})) in asked  # a German stop word, an English word
    assert [term.spellings for term in asked if not term.weak] == [
        ("laufenden", "laufend"),
        ("prozess",),
    ]


def test_a_word_asked_twice_is_one_term() -> None:
    assert [term.spellings for term in query_terms("error error Errors")] == [("error",)]


def test_unknown_languages_are_stemmed_by_script() -> None:
    assert terms("running", "xx") == terms("running", None) == Counter({"run": 1})


def test_garbage_stays_bounded() -> None:
    found = terms("A" * 10_000 + " " + "x1" * 5_000 + " " + "," * 10_000)
    assert max(map(len, found)) == MAX_TOKEN


def test_stemmers_are_not_shared_between_threads() -> None:
    text = " ".join(f"running{n} nationalization{n} flies" for n in range(300))
    expected = terms(text)
    results: list[Counter[str]] = []
    threads = [threading.Thread(target=lambda: results.append(terms(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


@given(st.text(max_size=200), st.sampled_from([None, "en", "de", "zh", "ru", "xx"]))
def test_a_question_with_a_passages_own_words_holds_all_its_terms(text: str, language: str | None) -> None:
    found = terms(text, language)
    assert set(found) <= spellings(text, *([language] if language else []))
    assert all(0 < len(term) <= MAX_TOKEN and count > 0 for term, count in found.items())


@given(st.text(max_size=100))
def test_case_and_width_do_not_matter(text: str) -> None:
    plain = "".join(letter for letter in text if letter.isascii())
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in plain)
    assert terms(wide) == terms(plain)


def test_of_a_very_long_question_both_ends_are_looked_up() -> None:
    words = [f"zq{number}" for number in range(600)]
    found = [term.spellings[0] for term in query_terms(" ".join(words))]
    assert len(found) == MAX_QUERY_TERMS
    assert found[0] == query_terms(words[0])[0].spellings[0]
    assert found[-1] == query_terms(words[-1])[-1].spellings[0]
