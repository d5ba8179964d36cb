"""The command line for those who use a service: jobs, runs and teams, through the public HTTP API alone."""
