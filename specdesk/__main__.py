"""`python -m specdesk` is the `specdesk` command."""

from specdesk.cli.main import main

main()
