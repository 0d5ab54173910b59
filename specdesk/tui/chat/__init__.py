"""The conversation that is open: its screen, and what is asked, answered, kept and done there."""
