"""A/B: one question, answered plainly and with speculation."""
