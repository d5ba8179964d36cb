"""The command line that shows runs: it knows the service by the client alone."""
