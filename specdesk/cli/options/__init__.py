"""Options that more than one command takes, each declared once; those that go together stand in a group.

A command takes a group as one parameter: `grouped` spreads it out for Typer.
"""
