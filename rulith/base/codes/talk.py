"""Refusal codes of the page's conversations: reading, finding, drafts, putting away."""

CODES: dict[str, tuple[str, str]] = {
    "talk_query": ("The conversations cannot be read so: {problem}.", "Correct it; nothing was changed."),
    "draft_field": ("The draft's {field} {problem}.", "Correct it; the draft that was kept is as it was."),
    "drafts_full": ("This Agent has {drafts} drafts already.", "Send or empty one; what you write here is in this page only."),
}
