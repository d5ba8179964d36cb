"""How much alike two texts are, from a small sample of each: so that many long outputs can be compared at little cost.

A text is seen as its set of runs of three words, without case, space and punctuation. Of their hashes the smallest are
kept; the share of these that two texts have in common estimates that of the sets (bottom-k sketches, Broder 1997).
"""

import re
from hashlib import blake2b
from heapq import nsmallest

CHARACTERS_READ = 20_000
"""Of each text, from its beginning."""
SAMPLE = 128
RUN_WORDS = 3
_WORD = re.compile(r"\w+")

Sketch = tuple[int, ...]


def sketch_of(text: str) -> Sketch:
    """The sample of a text, smallest first; empty for one of fewer words than a run."""
    words = _WORD.findall(text[:CHARACTERS_READ].casefold())
    runs = {" ".join(words[place : place + RUN_WORDS]) for place in range(len(words) - RUN_WORDS + 1)}
    return tuple(nsmallest(SAMPLE, {_hash(run) for run in runs}))


def _hash(run: str) -> int:
    return int.from_bytes(blake2b(run.encode(errors="replace"), digest_size=8).digest())


def likeness(one: Sketch, other: Sketch) -> float:
    """The share of runs of words that two texts have in common, 0 to 1."""
    if not one or not other:
        return 0.0
    sample = set(nsmallest(SAMPLE, {*one, *other}))
    return len(sample & set(one) & set(other)) / len(sample)
