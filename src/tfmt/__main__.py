"""`python -m tfmt` is the `tfmt` command."""

from tfmt.cli.main import main

main()
