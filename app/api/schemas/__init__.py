"""The shapes of answers, for the OpenAPI description. Nothing is validated with them but by tests."""
