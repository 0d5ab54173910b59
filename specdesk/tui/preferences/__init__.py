"""What the user may set in the chat, and how it is kept."""
