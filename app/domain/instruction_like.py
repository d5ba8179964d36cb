"""Whether a result speaks as somebody who gives orders would: as the system, as the user, in the marks of a prompt.

It changes nothing about how the result is treated: material stays material. It tells people, and the supervisor, where
to look twice.
"""

import re

_WHO = "SYSTEM|USER|ASSISTANT|DEVELOPER|ADMIN"
_TAGS = (
    "system|user|assistant|developer|objective|final_instruction|result|failed|assumption|conflict|settled|judged|tie_break|findings|flaws"
    "|success_criterion|system-reminder|system_prompt"
)
_ORDERS = re.compile(
    rf"(?:^[ \t>*_#\[(-]*|(?<=[.!?][ ]))(?:{_WHO})"
    r"(?:[ _-](?:MESSAGE|PROMPT|NOTICE|NOTE|OVERRIDE|REMINDER))?[\])*_]*[ \t]*:"
    rf"|^[ \t]*\[/?(?i:{_WHO})\]|<[ \t]*/?[ \t]*(?:{_TAGS})\b[^<>\n]{{0,80}}>"
    r"|<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|eot_id)\|>|\[/?INST\]|<</?SYS>>"
    r"|\b(?i:(?:ignore|disregard|forget|override) (?:all |any )?(?:of )?(?:the |your |my )?"
    r"(?:previous|prior|above|earlier|preceding) (?:instructions?|prompts?|rules|messages?|context))\b",
    re.MULTILINE,
)


def is_instruction_like(text: str) -> bool:
    """Whether `text` imitates those who give orders."""
    return _ORDERS.search(text) is not None
