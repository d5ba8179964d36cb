"""What may be wrong with an answer: the codes by which flaws about it are told apart."""

from typing import Literal

AnswerCode = Literal[
    "placeholder", "figure_unfounded", "quotation_unfounded", "passed_through", "gap_unnamed", "conflict_unfounded",
    "conflict_hidden", "conflict_unresolved", "data_unfit", "data_unfounded", "deed_unfounded",
    "finding_suppressed", "finding_unnamed",
]  # fmt: skip

ANSWER_CODES: dict[str, str] = {
    "placeholder": "The answer holds what was to be replaced by something.",
    "figure_unfounded": "A figure stands in no result, and cannot be reckoned from those beside it.",
    "quotation_unfounded": "Something is quoted that stands in no result.",
    "deed_unfounded": "Something is said to be done of which no result says so.",
    "passed_through": "The answer is the result of one task, and says nothing of what the others delivered.",
    "gap_unnamed": "The answer does not say that a required task delivered nothing.",
    "conflict_unfounded": "A conflict has no two sides, or is resolved by nothing that decides it.",
    "conflict_hidden": "Results contradict each other, and the answer does not show it.",
    "conflict_unresolved": "Results contradict each other, and this team takes no answer that leaves it so.",
    "data_unfit": "The data do not have the form that the job asks for.",
    "data_unfounded": "A value in the data stands in no result that it is said to come from.",
    "finding_suppressed": "The answer tells of a finding that was left out.",
    "finding_unnamed": "The answer does not tell of a critical finding.",
}
