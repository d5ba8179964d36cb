"""The statement by which a run comes to be."""

from app.store.intake import IS_OPEN
from app.store.queue import NEW_ENTRY

ACCEPT = f"""
    WITH intake AS (
        SELECT CAST(%(parent)s AS json) IS NOT NULL OR {IS_OPEN} AS may  -- What is under way goes on.
    ), key AS (
        INSERT INTO idempotency_keys (tenant, key, request, digest, run_id)
        SELECT %(tenant)s, %(key)s, %(request)s, %(digest)s, %(id)s FROM intake
        WHERE CAST(%(key)s AS text) IS NOT NULL AND may
        ON CONFLICT DO NOTHING RETURNING run_id
    ), run AS (
        INSERT INTO runs (id, tenant, status, objective, team_name, team_version, priority, turn, metadata, limits,
                          progress, usage, timing, origin, parent, schedule, reports_to, last_seq, created_at, key_id,
                          held)
        SELECT %(id)s, %(tenant)s, 'queued', %(objective)s, %(team_name)s, %(team_version)s, %(priority)s,
               coalesce(
                   (SELECT turn FROM runs WHERE id = CAST(%(parent)s AS json) ->> 'run'),
                   greatest((SELECT min(turn) FROM runs
                             WHERE status = 'queued' AND priority = %(priority)s AND NOT held),
                            (SELECT max(turn) + 1 FROM runs
                             WHERE status = 'queued' AND priority = %(priority)s AND tenant = %(tenant)s), 0)),
               CAST(%(metadata)s AS json), CAST(%(limits)s AS json), CAST(%(progress)s AS json),
               CAST(%(usage)s AS json), CAST(%(timing)s AS json), CAST(%(origin)s AS json),
               CAST(%(parent)s AS json), CAST(%(schedule)s AS json), CAST(%(parent)s AS json) ->> 'run',
               %(last_seq)s, %(at)s,
               coalesce(%(key_id)s, (SELECT key_id FROM runs WHERE id = CAST(%(parent)s AS json) ->> 'run')),
               %(held)s
        WHERE (CAST(%(key)s AS text) IS NULL OR EXISTS (SELECT FROM key)) AND (SELECT may FROM intake)
        ON CONFLICT (id) DO NOTHING  -- One that is nested or scheduled has but one id, however often it is begun.
        RETURNING id, priority, turn, held, key_id
    ), event AS (
        INSERT INTO events (run_id, seq, type, at, data)
        SELECT id, 1, 'run.queued', %(at)s, CAST(%(queued)s AS json) FROM run
    ), reused AS (
        INSERT INTO events (run_id, seq, type, at, data)
        SELECT id, 2, 'results.reused', %(at)s, CAST(%(reused)s AS json) FROM run
        WHERE CAST(%(reused)s AS text) IS NOT NULL
    ), copied AS (
        -- Each run has its own, for each is deleted at its own time.
        INSERT INTO run_inputs (run_id, position, name, media_type, content)
        SELECT run.id, source.position, source.name, source.media_type, source.content
        FROM run JOIN run_inputs AS source ON source.run_id = CAST(%(source)s AS text)
    ), inputs AS (
        INSERT INTO run_inputs (run_id, position, name, media_type, content)
        SELECT run.id, n.position - 1, n.name, n.media_type, n.content
        FROM run, unnest(CAST(%(names)s AS text[]), CAST(%(media_types)s AS text[]), CAST(%(contents)b AS text[]))
                  WITH ORDINALITY AS n(name, media_type, content, position)
    ), webhook AS (
        INSERT INTO webhook_endpoints (id, tenant, run_id, url, types, secret)
        SELECT %(endpoint)s, %(tenant)s, id, %(url)s, CAST(%(news)s AS text[]), %(secret)s FROM run
        WHERE CAST(%(url)s AS text) IS NOT NULL
    ), reserved AS (
        INSERT INTO spend_reserved (run_id, tenant, key_id, day, cost_usd)
        SELECT id, %(tenant)s, coalesce(key_id, ''), CAST(%(spend_day)s AS date), CAST(%(may_spend)s AS numeric)
        FROM run WHERE CAST(%(spend_day)s AS date) IS NOT NULL
    )
    SELECT intake.may, run.id IS NOT NULL AS stored, CASE WHEN NOT run.held THEN {NEW_ENTRY} END
    FROM intake LEFT JOIN run ON true
"""
"""One row: whether the job may be taken in, and whether there is a run of it now that was not there before."""
