from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import NoTextError, TextTooLargeError, UnsupportedTypeError
from shared.domain.text import Extraction
from shared.ingest.extract.clean import INVISIBLE_NOTE, Cleaner
from shared.ingest.extract.decode import decode
from shared.ingest.extract.detect import Format, detect
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.language import detect_language
from shared.ingest.extract.readers import read

SAMPLES = {
    "pt": (
        "cp1252",
        "A situação não é fácil para as famílias, mas há razões para crer que os preços vão descer.",
    ),
    "es": (
        "cp1252",
        "El niño comió en la montaña. Mañana será otro día; según el pronóstico, lloverá más al sur.",
    ),
    "de": ("cp1252", "Die Bürgermeisterin eröffnete das neue Schwimmbad. Für die Gäste gab es Süßigkeiten."),
    "fr": (
        "mac_roman",
        "L'été dernier, nous avons passé nos vacances à la mer. Les enfants étaient très contents.",
    ),
    "sv": (
        "cp1252",
        "Människorna på ön lever av fiske och jordbruk. När hösten kommer är det mörkt redan då.",
    ),
    "pl": (
        "iso8859_2",
        "W ubiegłym roku liczba mieszkańców miasta zwiększyła się. Najwięcej osób przyjechało z gór.",
    ),
    "cs": (
        "cp1250",
        "V loňském roce se počet obyvatel města zvýšil o tři procenta. Přišlo ze zahraničí a z okolí.",
    ),
    "ru": (
        "koi8_r",
        "В прошлом году население города увеличилось на три процента. Многие приехали из-за границы.",
    ),
    "el": (
        "cp1253",
        "Το περασμένο έτος ο πληθυσμός της πόλης αυξήθηκε κατά τρία τοις εκατό από το εξωτερικό.",
    ),
    "tr": (
        "cp1254",
        "Geçen yıl şehrin nüfusu yüzde üç arttı. İstanbul'da çocuklar için bir park ve okul var.",
    ),
    "he": ("cp1255", "בשנה שעברה גדלה אוכלוסיית העיר בשלושה אחוזים. רוב האנשים הגיעו מחוץ לארץ."),
    "zh": ("gb18030", "去年，该市人口增长了百分之三。大多数人来自国外，主要来自邻国。"),
    "ja": ("cp932", "昨年、市の人口は三パーセント増加しました。多くの人が外国から来ています。"),
    "ko": ("euc_kr", "지난해 시 인구는 3퍼센트 증가했다. 대부분의 사람들은 외국에서 왔다."),
}


def extract(data: bytes, name: str = "file.txt") -> Extraction:
    return read(data, Hints(name))


@pytest.mark.parametrize("language", SAMPLES)
def test_code_pages_and_languages_are_told(language: str) -> None:
    encoding, text = SAMPLES[language]
    found = extract(text.encode(encoding))
    assert found.markdown == text + "\n"
    assert found.language == language


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("去年，該市人口增長了百分之三。大多數人來自國外。", "big5"),
        ("昨年、市の人口は三パーセント増加しました。", "euc_jp"),
        ("昨年、市の人口は三パーセント増加しました。", "iso2022_jp"),
        ("姓名,城市\n王小明,上海\n李雷,北京", "gb18030"),
        ("The quick brown fox", "utf-16-le"),
        ("The quick brown fox", "utf-16-be"),
        ("The quick brown fox", "utf-32-le"),
        ("Naïve — “quotes”", "utf-8-sig"),
        ("Naïve — “quotes”", "utf-16"),
        ("Naïve — “quotes”", "utf-32"),
        ("Copyright © 2020", "cp1252"),
        ("können", "cp1252"),
    ],
)
def test_encodings(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_utf8_with_a_few_broken_bytes_stays_utf8() -> None:
    data = "Größe und Süße, überall Äpfel. ".encode() * 30 + b"\xc3"
    assert decode(data).startswith("Größe und Süße")


@given(st.binary(max_size=300))
def test_any_bytes_decode(data: bytes) -> None:
    assert isinstance(decode(data), str)


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"<!DOCTYPE html><p>x", "a.txt", Format.HTML),
        (b"<p>one</p><p>two</p>", "a.html", Format.HTML),
        (b"a < b and b > c", "a.txt", Format.TEXT),
        (b"a,b\n1,2\n", "a.csv", Format.CSV),
        (b"# Title\n\nText.\n", "a.md", Format.MARKDOWN),
        (b"# Title\n\nSee [this](https://example.org).\n", "a", Format.MARKDOWN),
        (b"Just words.", "a.md", Format.MARKDOWN),
        (b"# comment\nkey = value\n", "settings.conf", Format.TEXT),
        (b"%PDF-1.4 ...", "a.docx", Format.PDF),
        (b"junk\n%PDF-1.4 ...", "a.txt", Format.PDF),
    ],
)
def test_the_type_comes_from_the_bytes(data: bytes, name: str, expected: Format) -> None:
    assert detect(data, Hints(name)) is expected


@pytest.mark.parametrize(
    "data",
    [
        b"MZ\x90\x00" + bytes(range(256)),
        b"\x7fELF" + bytes(200),
        b"{\\rtf1 text}",
        b"\xff\xd8\xff\xe0" + bytes(range(256)),
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"GIF89a" + bytes(100),
        bytes(range(256)) * 8,
        b"\x00\x01\x02\x03" * 200,
    ],
)
def test_binary_files_are_refused_whatever_they_are_called(data: bytes) -> None:
    for name in ("a.txt", "a.md", "a.csv", "a.html"):
        with pytest.raises(UnsupportedTypeError):
            extract(data, name)


def test_plain_text_makes_no_headings_of_comments() -> None:
    found = extract(b"# comment\r\nkey = value\r\n", "settings.conf")
    assert found.markdown == "\\# comment\nkey = value\n"


def test_markdown_is_kept_as_it_is_and_titled() -> None:
    source = '---\ntitle: "The budget"\n---\n\n# Water\n\n\tcode\n\n* a\n'
    found = extract(source.encode(), "a.md")
    assert found.markdown == source
    assert found.title == "The budget"
    assert extract(b"# Water #\n\nText.", "a.md").title == "Water"
    assert extract(b"Water\n=====\n\nText.", "a.md").title == "Water"
    assert extract(b"Text.", "a.md").title is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a;b\n1,5;x, y\n2,5;z\n", "| a | b |\n| --- | --- |\n| 1,5 | x, y |\n| 2,5 | z |\n"),
        ("a\tb\n1\t2\n", "| a | b |\n| --- | --- |\n| 1 | 2 |\n"),
        ('a,b\r1,"x\ry"\r', "| a | b |\n| --- | --- |\n| 1 | x y |\n"),
        ('a,b\n1,"say ""no"""\n', '| a | b |\n| --- | --- |\n| 1 | say "no" |\n'),
        ('a;b\n1;"say \\"no\\"; go"\n2;"x"\n', '| a | b |\n| --- | --- |\n| 1 | say "no"; go |\n| 2 | x |\n'),
        ("a,b,c\n1,2\n3,4,5\n", "| a | b | c |\n| --- | --- | --- |\n| 1 | 2 |  |\n| 3 | 4 | 5 |\n"),
        ("Report 2024\n\na,b\n1,x|y\n", "Report 2024\n\n| a | b |\n| --- | --- |\n| 1 | x\\|y |\n"),
        ("Name\nReading, writing\nSums\n", "| Name |\n| --- |\n| Reading, writing |\n| Sums |\n"),
        ("a,b\n\0,2\n", "| a | b |\n| --- | --- |\n|  | 2 |\n"),
    ],
)
def test_csv(source: str, expected: str) -> None:
    assert extract(source.encode(), "a.csv").markdown == expected


def test_very_long_csv_records_are_read() -> None:
    wide = ",".join(f"column{n}" for n in range(5_000))
    assert "column4999" in extract(f"{wide}\n{wide}\n".encode(), "a.csv").markdown


def test_only_blanks_are_refused() -> None:
    for data in (b" \n\t\n", b"\xef\xbb\xbf\n", b"...\n---\n"):
        with pytest.raises(NoTextError):
            extract(data)


def test_the_limit_counts_utf8_bytes_and_is_exact() -> None:
    assert len(extract(b"x" * 1_048_575).markdown) == 1_048_576
    with pytest.raises(TextTooLargeError):
        extract(b"x" * 1_048_577)
    with pytest.raises(TextTooLargeError):
        extract("字".encode() * 350_000)


@pytest.mark.parametrize(
    ("raw", "clean", "noted"),
    [
        ("a\r\nb\rc\x0bd\u2028e", "a\nb\nc\nd\ne", False),
        ("a\x00b\x07c\x9fd\ufffee\U0001ffff", "abcde", False),
        ("\ud83d\ude00 and \ud83d alone", "😀 and  alone", False),
        ("\ufeffco\u00adop\u200e", "coop", False),
        ("pass\u200bword", "password", True),
        ("abc\u202edef\u202c", "abcdef", True),
        ("hi\U000e0041\U000e0042", "hi", True),
        ("x\u200dy\u200cz", "xyz", True),
        ("👩\u200d👧", "👩\u200d👧", False),
        ("می\u200cخواهم", "می\u200cخواهم", False),
        ("क्\u200dष", "क्\u200dष", False),
        ("e\u0301 ﬁne ﬀ", "é fine ff", False),
        ("\ufe8d\ufedf", "ال", False),
        ("한글", "한글", False),
    ],
)
def test_cleaning(raw: str, clean: str, *, noted: bool) -> None:
    cleaner = Cleaner()
    assert cleaner.clean(raw) == clean
    assert (INVISIBLE_NOTE in cleaner.notes) is noted


@given(st.text(alphabet=st.characters(codec=None), max_size=200))
def test_clean_text_is_storable_and_stays_clean(text: str) -> None:
    once = Cleaner().clean(text)
    once.encode("utf-8")
    assert not any(ord(c) < 32 and c not in "\n\t" for c in once)
    assert Cleaner().clean(once) == once


def test_removed_invisible_characters_are_noted_on_the_document() -> None:
    found = extract("Ignore\u200b this\U000e0041.".encode())
    assert found.markdown == "Ignore this.\n"
    assert found.notes == (INVISIBLE_NOTE,)


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        ("Copyright 2020", "en-US", "en"),
        ("Copyright 2020", None, None),
        ("Copyright 2020", "x-klingon", None),
        ("0x004b47e6,0e1,a1,7o " * 40, None, None),
        ("这本书 is about the council and its water supply for the city of the north", None, "en"),
        ("中文为主的句子里有 API 和 SDK 两个词", "en", "zh"),
        ("این یک متن فارسی است که می‌خواهم بخوانم و گفتگو کنم", None, "fa"),
        ("ประชากรของเมืองเพิ่มขึ้น", None, "th"),
    ],
)
def test_languages(text: str, declared: str | None, expected: str | None) -> None:
    assert detect_language(text, declared=declared) == expected
