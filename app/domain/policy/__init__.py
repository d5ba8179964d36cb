"""All policy that needs no model: what should be going on in a run, and what has been settled."""
