"""What this process has done and how the service is, as Prometheus reads it."""
