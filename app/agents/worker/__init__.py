"""The worker: does one task with its own tools, in a bounded loop, and ends in a result or an escalation."""
