"""The shell's half: one command per file; parsing and printing only."""
