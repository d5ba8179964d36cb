"""The words that the lint of plans goes by. English alone: of other languages it says nothing.

A sentence asks for an act when it begins with the verb, as orders do; a verb further inside is mostly about something.
"""

import re
from collections.abc import Iterator

CHARACTERS_READ = 2_000
"""How far an instruction is looked at: what is asked for stands at its beginning."""
FEWEST_WORDS = 4

_WORD = re.compile(r"[^\W_]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TELLING = _words("the of and to for from with what which is are this that each")
"""Words of which English sentences have some."""
_STOP = _words("""
    a about above all also an and another any are as at be been below between both by can could did do does each every
    for from had has have he her his how if in into is it its just may might more most must no not of off on one only or
    other our out over per shall she should so some such than that the their them then these they this those to under up
    very was we were what when where which who whom why will with within without would you your
""")
_GENERIC = _words("""
    analyse analysis analyze answer appropriate best check collect complete comprehensive create data deal deliver
    detail detailed details determine do document everything explore find finding findings finish gather get give good
    handle help identify important info information input inputs insight insights investigate issue items job key look
    make material matter necessary needed objective output outputs perform please prepare problem process produce
    project provide question read relevant report research result results review stuff subject sum summaries summarise
    summarize summary task tasks thing things thorough thoroughly topic understand useful user work write
""")
"""Words that say nothing of what a task is about."""
_REFERRING = re.compile(
    r"\b(?:results?|findings?|outputs?|answers?|based on|given|these|those|both|figures?|numbers|data|facts|draft\w*"
    r"|diagnos\w*|using|use|summar\w*|combin\w*|compar\w*|reports?|writ\w*|review\w*|check\w*|verif\w*|merg\w*"
    r"|reconcil\w*|synthes\w*|rank\w*|recommend\w*|advise|advice|conclu\w*|found|gives?|gave|previous|preceding|above|it|its|they|them|their|all|each|every)\b",
    re.IGNORECASE,
)
"""Words by which an instruction may mean what it is given."""

_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»")
_SENTENCE_END = re.compile(r"[.;!?](?=\s|$)|\n")
_CLAUSE_END = re.compile(r",\s|\s(?:and|then)\s")
_TELLS_OF = re.compile(r"\b(?:how|who|which|why|whether|that|explain\w*|describ\w*)\b", re.IGNORECASE)
"""From here to its end a sentence is about something, and orders nothing more."""
_CLAUSE_START = re.compile(
    r"(?:[\s\-*•(]|\d{1,3}[.)]\s)*(?:(?:please|and|then|also|finally|afterwards|next|now|lastly)\b,?\s*)?",
    re.IGNORECASE,
)
_FILE = r"[\w./-]{1,80}\.(?:md|txt|csv|tsv|json|ya?ml|html?|pdf|docx?|xlsx?|pptx?|py|js|ts|sql|log|xml|png|svg)\b"
_FEW = r"(?:\S+\s+){0,8}?"
_AFTER = r"(?=\s*(?:$|[,:)]|for\b|to\b|about\b|whether\b|what\b|how\b|which\b|who\b|when\b|until\b|again\b|with\b))"

ACTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:save|store|export)\s+{_FEW}{_FILE}",
        rf"(?:save|store|write|export)\s+{_FEW}(?:to|into|in|as|on)\s+(?:a\s+|the\s+)?(?:new\s+)?(?:file|disk|folder"
        r"|directory|database|repo(?:sitory)?)\b",
        rf"write\s+{_FEW}(?:to|into)\s+{_FILE}",
        r"create\s+(?:a|the)\s+(?:new\s+)?(?:file|directory|folder)\b",
        rf"(?:write|create|generate|update|edit|overwrite|delete|remove|rename)\s+(?:(?:a|the|file|new)\s+){{0,3}}{_FILE}",
        rf"append\s+{_FEW}to\s+(?:the\s+)?{_FILE}",
        r"make\s+(?:a|the)\s+commit\b",
        r"(?:send|forward)\s+(?:\S+\s+){1,6}?to\s+\S{1,80}@\S",
        r"commit\s*(?:$|(?:it|them|the|all|your|these|this|changes|everything)\b)",
        rf"push\s+{_FEW}(?:branch|repo(?:sitory)?|origin|main|master|remote|commits?|changes|github)\b",
        rf"(?:open|create|submit|merge)\s+(?:a|the)\s+{_FEW}(?:pull request|merge request|PR)\b",
        rf"(?:send|forward)\s+{_FEW}(?:e-?mails?|mails?|messages?|letters?|newsletters?|invitations?|invites?"
        r"|notifications?|sms|reminders?|invoices?|repl(?:y|ies))\b",
        r"(?:e-?mail|mail|notify|message)\s+(?:the|all|every|each|him|her|them|\S{1,80}@\S)",
        rf"(?:post|publish)\s+{_FEW}(?:on|to|in)\s+(?:the\s+|our\s+)?(?:\S+\s+)?(?:slack|twitter|linkedin|web ?site"
        r"|blog|wiki|channel|intranet|wordpress|github|confluence)\b",
        r"(?:deploy|restart|upload)\s+(?:it|them|the|this|all|to)\b",
        rf"(?:delete|drop)\s+{_FEW}(?:files?|records?|accounts?|users?|branch(?:es)?|database|tickets?|folders?)\b",
        rf"(?:book|reserve)\s+(?:a|an|the|two|three|\d+)\s+{_FEW}(?:flights?|rooms?|hotel|appointments?|seats?|meeting)\b",
        rf"(?:pay|refund|transfer)\s+(?:a|the|all)\s+{_FEW}(?:invoices?|bills?|amount|money|payment|customers?)\b",
    )
)
"""Orders that change something in the world."""
RUNS = re.compile(
    rf"(?:run|execute)\s+(?:the|all|its|our)\s+{_FEW}(?:tests?|test suite|script|migrations?|build)\b", re.I
)
"""Orders to run a program, for which any tool may do."""
WEB = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:search|browse|google|look|find|research)\s+(?:\S+\s+){{0,12}}?(?:the\s+(?:web|internet)|online){_AFTER}",
        rf"(?:fetch|open|visit|download|scrape|crawl)\s+{_FEW}https?://",
    )
)
"""Orders to look something up on the web."""
_HANDS_OFF = re.compile(
    r"\bchanges? nothing\b|\bnothing (?:is|may be|can be|will be) (?:changed|saved|sent|published|done)\b"
    r"|\b(?:do not|don't|never|cannot) (?:actually )?(?:save|send|commit|publish|deploy|execute|act)\b"
    r"|\bonly (?:draft|describe|propose)\b",
    re.IGNORECASE,
)
"""What takes an order back: the text is wanted, and nothing else."""

ABOVE = re.compile(
    r"\b(?:(?:as|see|mentioned|described|listed|stated|noted|shown|discussed|defined)\s+above"
    r"|the\s+above(?!\s*-?\s*(?:average|zero|\d)))\b(?!\s+(?:the|\d|all|average|ground|sea|zero)\b)",
    re.IGNORECASE,
)
EARLIER = re.compile(
    r"\b(?:previous|preceding)\s+(?:tasks?|workers?|agents?)\b"
    r"|\b(?:results?|outputs?|findings|work)\s+(?:of|from|by)\s+(?:the\s+|all\s+)?(?:previous|preceding|prior|earlier|other)"
    r"\s+(?:tasks?|steps?|workers?|agents?|researchers?)\b",
    re.IGNORECASE,
)
_BARE_ID = re.compile(r"(?<![\w./-])(?:t|task[-_]?|step[-_]?)\d{1,3}(?![\w/-]|\.\w)")
_NAMED_TASK = re.compile(r"\btasks?\s+([\"'`]?)([a-z0-9][a-z0-9_-]{0,63})\b", re.IGNORECASE)
_NO_MORE_THAN = re.compile(
    r"^(?:please\s+)?(?:do|handle|complete|finish|work on|deal with|take care of|help with|look into|process)\s+"
    r"(?:it|this|that|everything|the (?:task|rest|work|job|objective|problem|request))[.!\s]*$",
    re.IGNORECASE,
)


def is_english(text: str) -> bool:
    """Whether these words say anything about a text."""
    return text.isascii() or not _TELLING.isdisjoint(_WORD.findall(text[:CHARACTERS_READ].lower()))


def words_in(text: str) -> frozenset[str]:
    """The words of a text that tell it from others, figures included."""
    return frozenset(_WORD.findall(text[:CHARACTERS_READ].lower())) - _STOP


def telling_words(text: str) -> frozenset[str]:
    """Those of them that say what a task is about."""
    return frozenset(_singular(word) for word in words_in(text) - _GENERIC if len(word) > 1)


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 4 else word


def says_nothing(text: str) -> bool:
    """Whether an instruction asks for something without saying what."""
    if _NO_MORE_THAN.match(text.strip()[:200]):
        return True
    if any(sign.isdigit() or sign in '"“«`' for sign in text) or not is_english(text):
        return False
    return not telling_words(text) or (len(_WORD.findall(text)) < FEWEST_WORDS and "." not in text.strip().rstrip("."))


def may_mean_what_it_is_given(text: str) -> bool:
    """Whether an instruction may refer to the results of other tasks."""
    return not is_english(text) or bool(_REFERRING.search(text[:CHARACTERS_READ]))


def orders_in(text: str) -> Iterator[str]:
    """The clauses of an instruction, each from its verb on, without what it quotes."""
    plain = unquoted(text)
    for sentence in _SENTENCE_END.split(plain.replace("`", "")):
        for clause in _CLAUSE_END.split(sentence):
            if start := _CLAUSE_START.match(clause):
                yield clause[start.end() :]
            if _TELLS_OF.search(clause):
                break


def unquoted(text: str) -> str:
    """The beginning of a text without what it quotes; a name in quotation marks stays."""
    return _QUOTED.sub(lambda found: "…" if " " in found[0] else found[0].strip('"“”«»'), text[:CHARACTERS_READ])


def is_delicate(text: str) -> bool:
    """Whether an instruction orders what not every worker can do, or speaks of other tasks."""
    if EARLIER.search(unquoted(text)) or any(tasks_named_in(unquoted(text))):
        return True
    return any(each.match(order) for order in orders_in(text) for each in (*ACTS, *WEB, RUNS))


def takes_its_hands_off(text: str) -> bool:
    """Whether a text says that nothing is to be changed."""
    return bool(_HANDS_OFF.search(text[:CHARACTERS_READ]))


def tasks_named_in(text: str) -> Iterator[str]:
    """What a text calls by something like the id of a task."""
    yield from _BARE_ID.findall(text)
    for mark, name in _NAMED_TASK.findall(text):
        if mark or any(sign.isdigit() or sign in "-_" for sign in name):
            yield name.lower()
