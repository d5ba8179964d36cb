"""Many runs that have ended, as rows alone: for those who look at how lists find them."""

import psycopg

_FILL = """
    INSERT INTO runs (id, tenant, status, stop_reason, objective, team_name, team_version, priority, turn, metadata,
                      limits, progress, usage, timing, result, last_seq, created_at, started_at, finished_at, cost_usd)
    SELECT 'run_' || %(tenant)s || lpad(n::text, 12, '0'), %(tenant)s,
           CASE WHEN n %% 1000 = 3 THEN 'cancelled' WHEN n %% 50 = 7 THEN 'failed' WHEN n %% 100 = 9 THEN 'partial'
                ELSE 'succeeded' END,
           CASE WHEN n %% 1000 = 3 THEN 'cancelled' WHEN n %% 2000 = 57 THEN 'provider_auth'
                WHEN n %% 50 = 7 THEN 'no_results' WHEN n %% 100 = 9 THEN 'gaps' ELSE 'completed' END,
           'Compare the north, the south and the west by their sales, number ' || n,
           CASE WHEN n %% 500 = 1 THEN 'rare' ELSE 'general' END, 1, 0, 0,
           json_build_object('ticket', 'T-' || n, 'customer', 'c' || n %% 200,
                             'env', CASE WHEN n %% 10 = 0 THEN 'test' ELSE 'prod' END),
           '{"tasks": 12, "concurrency": 5, "timeout_s": 900, "attempts": 3, "rounds": 2, "depth": 2}',
           '{"tasks": {"total": 4, "succeeded": 4}, "round": 1}',
           json_build_object('llm_calls', 15, 'tool_calls', 12, 'input_tokens', 40000, 'output_tokens', 2000,
                             'cost_usd', (n %% 9973)::numeric / 10000),
           '{"queued_ms": 3, "wall_ms": 4000, "critical_path_ms": 4000, "sequential_ms": 9000, "speedup": 2.2}',
           json_build_object('answer', repeat(md5(n::text), 30)), 52, at, at, at + make_interval(secs => 5 + n %% 600),
           (n %% 9973)::numeric / 10000
    FROM generate_series(1, %(count)s) AS n,
         LATERAL (SELECT now() - make_interval(secs => (%(count)s - n) * %(apart_s)s) AS at) AS moment
"""
_TEAMS = """
    INSERT INTO teams (tenant, name, version, definition, digest)
    SELECT %(tenant)s, name, 1, '{}', 'x' FROM unnest(ARRAY['general', 'rare']) AS name ON CONFLICT DO NOTHING
"""


def fill(connection: psycopg.Connection, tenant: str, count: int, *, apart_s: float = 13.0) -> None:
    """Give a tenant so many runs, one every `apart_s` seconds until now."""
    values = {"tenant": tenant, "count": count, "apart_s": apart_s}
    connection.execute(_TEAMS, values)
    connection.execute(_FILL, values)
