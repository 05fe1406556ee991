"""Whether what was found answers the question, or is only the nearest that there is.

Neither score can tell alone. A cosine is high for everything about the same subject; words in common are few
where a question is put in its own words. A passage is evidence as far as both together go: the share of the
question's information (idf) that stands in it, and its similarity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

from shared.domain.models import EmbeddingProfile
from shared.domain.retrieval import RetrievedPassage
from shared.domain.sentences import is_unspaced
from shared.index.resolve import Resolved
from shared.retrieve.policy import PolicyName

# Calibrated with multilingual-e5-small on a company handbook (149 questions against 189 of other subjects:
# AUC 0.96) and on encyclopedia paragraphs in Chinese (199 answered by the half that was indexed against 199
# by the other half: AUC 0.99). `python -m tests.bench.evidence` measures it again.
#
# Similarity counts in units of the model's own minimum, so one rule serves every model: 2.8 times the minimum
# is as good as holding every word of the question.
_SIMILARITY_SHARE = 1 / 2.8
# Bigrams of a script without blanks overlap word boundaries: a passage that answers holds fewer of them.
_UNSPACED_WORDS = 1.4
# A question in another script than the passage shares no words with it, whatever the passage says: there
# the vector decides alone. At 1.5 it keeps half of the Chinese questions that English paragraphs answer, and
# takes one in eighty of those that they do not; at 1.3 three quarters, and one in ten.
_OTHER_SCRIPT = 1.5
