from tests.support.fixtures import _plain_logs, _settled_heap, service, services, stub

__all__ = ["_plain_logs", "_settled_heap", "service", "services", "stub"]
