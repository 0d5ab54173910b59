"""The chat on the terminal, over Textual: the only room that imports it."""
