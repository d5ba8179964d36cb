"""`python -m app` is `chargehand`."""

from app.cli import main

main()
