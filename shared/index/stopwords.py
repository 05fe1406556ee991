"""Words that carry no evidence: the commonest function words and question words of a few languages.

The lists are short on purpose. A long list drops words that someone searches for; BM25 already gives a word
that stands in every passage almost no weight. Question words are here because they are rare in documents: a
rare word weighs much, and "which" would look like evidence.
"""

from __future__ import annotations

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "english": (
            "a an and are as at be been but by can could did do does for from had has have how i if in"
            " into is it its me my of on or our shall should so than that the their them then there these"
            " they this those to us was we were what when where which who whom whose why will with would"
            " you your"
        ),
        "german": (
            "als am an auf aus bei das dass dem den der des die ein eine einem einen einer eines er es"
            " für hat haben ich ihr im in ist kann man mein mit nach oder sie sind so und vom von war"
            " warum was welche welcher welches wenn wer werden wie wir wird wo zu zum zur"
        ),
        "french": (
            "a à au aux avec ce ces cette comment d dans de des du elle en est et il ils j je l la le les"
            " leur ma mes mon n nous on ou où par pas pour pourquoi qu quand que quel quelle quelles quels"
            " qui s sa se ses son sont sur un une vous y"
        ),
        "spanish": (
            "a al como cómo con cuál cuáles cuando cuándo de del donde dónde el ella ellos en es esta"
            " este la las lo los me mi no o para pero por porque qué que quién se ser si sin son su sus un"
            " una y yo"
        ),
        "italian": (
            "a ai al alla che chi ci come con da dal dei del della delle di dove e è gli ha ho i il in io"
            " l la le lo ma mi nel nella non o per perché quale quali quando si sono su sul un una"
        ),
        "portuguese": (
            "a ao aos as com como da das de do dos e em é eu na nas no nos não o onde os ou para por"
            " porque qual quais quando que quem se sem ser seu sua um uma"
        ),
        "dutch": (
            "aan als bij dat de die dit een en er het hij hoe ik in is je met naar niet of om op te tot"
            " uit van voor waar waarom wanneer wat welke wie ze zijn"
        ),
        "russian": (
            "а без бы в вы где для до его ее если есть и из или их к как какие какой когда который кто мы"
            " на не но о об он она они от по почему при с со так то что чтобы это я"
        ),
    }.items()
}

# Question phrases of scripts without spaces: they part a run, so that no bigram spans them.
QUESTION_PHRASES = (
    "为什么",
    "為什麼",
    "什么",
    "什麼",
    "怎么",
    "怎麼",
    "怎样",
    "怎樣",
    "如何",
    "哪些",
    "哪个",
    "哪個",
    "哪里",
    "哪裡",
    "多少",
    "是否",
    "是谁",
    "是誰",
    "请问",
    "請問",
    "でしょうか",
    "ですか",
    "ますか",
    "どのように",
)
