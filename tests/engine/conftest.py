from tests.support.fixtures import service, services, stub

__all__ = ["service", "services", "stub"]
