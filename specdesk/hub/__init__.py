"""The pairs specdesk recommends, where their files come from, and which are on this disk."""
