"""The language of a text as an ISO 639-1 code, from its script and its commonest words."""

from __future__ import annotations

import re
from collections import Counter

_SAMPLE = 20_000  # characters
_FEWEST_WORDS = 3  # of a language's commonest, to name it
_LEAST_SHARE = 0.08  # of all words; running text has 20 to 40 per cent
_AHEAD = 1.15  # times the next language
_LETTERS = 12  # fewer tell nothing
_WORDS = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")

# Words that are common in one language and rare or absent in those it could be taken for.
_COMMON = {
    "en": "the of and to in is that for was with are this from which have not be by on it as at or an",
    "de": "der die und das den von ist mit nicht auf ein eine dem des sich im zu für auch als wird werden es",
    "fr": "le la les et des est une dans que du pour qui sur pas par au aux ce cette sont avec nous il",
    "es": "a y el los las que del una por con para es se su como más al lo pero sus este esta son fue",
    "it": "e il di che della per sono con una non del gli alla dei nel si anche è le ha dal delle più questo",
    "pt": "a o e as os mas que do da em um uma para não com dos das no na por mais ao se como foi são é ou à",
    "nl": "de het een van en is dat op te voor met zijn niet aan er ook door bij naar uit maar wordt",
    "sv": "och att det som en på är av för med den till inte har om ett de vi kan när var",
    "da": "og at det er til på som en af for med ikke den har de et vi der kan om jeg",
    "no": "og det er til på som en av for med ikke den har de et vi jeg å fra kan",
    "fi": "ja on että ei se oli mutta hän kun tai myös ovat ole mukaan joka sekä vuoden jos niin",
    "pl": "i w na z się nie do jest że o jak po od za przez dla tym są oraz co ale lub być roku",
    "cs": "a se na v je že s z do o i to pro jako by které od nebo ale jsou při podle byl",
    "hu": "a az és hogy nem egy is ez meg volt csak mint már de vagy van ha be el kell ki",
    "ro": "de și în la care cu este pe din nu mai o sunt a fi pentru că să ce au sau prin",
    "tr": "ve bir bu için ile de da olarak daha çok olan en gibi sonra kadar ne ise değil var yüzde",
    "id": "yang dan di itu dengan untuk tidak ini dari dalam akan pada juga ke karena adalah oleh atau",
    "vi": "của và là có trong được cho không các một với người những này để đã khi từ",
    "lt": "ir yra kad su iš buvo tai kaip bet jis apie dėl metais metų po pagal",
    "ru": "и в не на что с по как это из от для за его к но они у же было",
    "uk": "і в не на що з до як це від для за його але та у є про були",
    "bg": "и в не на че с по като това от за се да са е при който но",
    "sr": "и у на је да се од за са не као што су из која али по био",
}
_WORD_LANGUAGES: dict[str, list[str]] = {}
for _language, _words in _COMMON.items():
    for _word in _words.split():
        _WORD_LANGUAGES.setdefault(_word, []).append(_language)

_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7a3\u1100-\u11ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("bn", re.compile("[\u0980-\u09ff]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("te", re.compile("[\u0c00-\u0c7f]")),
    ("ka", re.compile("[\u10a0-\u10ff]")),
    ("hy", re.compile("[\u0530-\u058f]")),
)
_PERSIAN = re.compile("[\u067e\u0686\u0698\u06a9\u06af\u06cc]")
_ALPHABETS = re.compile("[A-Za-z\u00c0-\u024f\u0400-\u052f]")  # Latin and Cyrillic: told by words
_WEIGHT = 2.5  # a syllable or word sign says about as much as this many letters
_KANA = 0.05  # of the Japanese letters in Japanese; less is a quotation in Chinese


def detect_language(text: str, *, declared: str | None = None) -> str | None:
    """The main language of `text`. Where the text does not tell, what the file declares; else `None`."""
    sample = text[:_SAMPLE]
    by_script = _by_script(sample)
    if by_script:
        return by_script
    found = common_language(sample)
    if found:
        return found
    code = (declared or "").strip().lower().replace("_", "-").partition("-")[0]
    return code if re.fullmatch("[a-z]{2}", code) else None


def common_language(text: str) -> str | None:
    """The language whose commonest words `text` has, in Latin or Cyrillic letters."""
    words = [word.lower() for word in _WORDS.findall(text)]
    hits: Counter[str] = Counter()
    for word in words:
        hits.update(_WORD_LANGUAGES.get(word, ()))
    ranked = hits.most_common(2)
    if not ranked or ranked[0][1] < max(_FEWEST_WORDS, _LEAST_SHARE * len(words)):
        return None
    if len(ranked) > 1 and ranked[0][1] < _AHEAD * ranked[1][1]:
        return None
    return ranked[0][0]


def _by_script(sample: str) -> str | None:
    counts = {language: len(pattern.findall(sample)) for language, pattern in _SCRIPTS}
    letters = len(_ALPHABETS.findall(sample))
    kana, han = counts["ja"], counts["zh"]
    if kana > _KANA * (kana + han):
        counts["ja"], counts["zh"] = kana + han, 0
    else:
        counts["ja"] = 0
    language, count = max(counts.items(), key=lambda item: item[1])
    if count * _WEIGHT < letters or (count < 2 and letters + count < _LETTERS):
        return None
    if language == "ar" and len(_PERSIAN.findall(sample)) > 0.04 * count:
        return "fa"
    return language
