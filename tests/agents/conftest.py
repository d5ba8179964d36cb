from tests.support.fixtures import _plain_logs, service, services, stub

__all__ = ["_plain_logs", "service", "services", "stub"]
