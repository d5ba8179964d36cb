"""`make bench`: every figure, as a table in Markdown. Ratios within one run are what counts; machines differ.

`python -m benchmarks PART …` runs a part: throughput, slow_calls, memory, streams, readers, takeover, cancel, pickup,
replicas, failures, dynamic_workers, reductions, hostile, nested, templates, findings, code_review, masking, metrics,
webhooks, limits, tracing, run_lists, console.
"""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.bench import MEASURED, SERVING, Bench, bench, percentile
from benchmarks.console import measure as measure_console
from benchmarks.failures import overshoot_of, spending
from benchmarks.findings import KINDS
from benchmarks.findings import measure as measure_findings
from benchmarks.hostile import outcome_of
from benchmarks.masking import measure as measure_masking
from benchmarks.readers import measure as measure_readers
from benchmarks.reductions import measure as measure_reductions
from benchmarks.reference_job import CALLS_IN_A_ROW
from benchmarks.replicas import FAST, SLOW, cancel_seconds, first_calls, spread, takeover_seconds
from benchmarks.replicas import throughput as throughput_of
from benchmarks.run_lists import RUNS
from benchmarks.run_lists import measure as measure_run_lists
from benchmarks.streams import measure
from benchmarks.throughput import measure as measure_throughput
from benchmarks.tracing import swallowing

AT_ONCE = 50


def throughput() -> None:
    """The reference job with calls of 50 ms, beside the bare programs."""
    measure_throughput()


def slow_calls() -> None:
    """The reference job with calls of 1 s: what a run takes beyond its critical path."""
    with bench(call_seconds=1.0) as surroundings:
        # Jobs of many clients do not come in step: the first fifty start over the time that one takes.
        figures = _service(surroundings, AT_ONCE * 3, AT_ONCE, stagger_s=CALLS_IN_A_ROW / AT_ONCE)
    over = [(seconds - CALLS_IN_A_ROW) * 1000 for seconds in figures["times"]]
    print(
        f"\nCalls of 1 s, {AT_ONCE} runs at once: over the critical path {percentile(over, 0.5):.0f} ms (median), "
        f"{percentile(over, 0.95):.0f} ms (95th percentile)."
    )


def memory() -> None:
    """What a run costs while it waits on the model."""
    with bench(call_seconds=20.0) as surroundings:
        figures = surroundings.measured("benchmarks.memory", surroundings.database_url, surroundings.stub_url, 500)
    print(f"\nMemory: {figures['kib_per_run']:.0f} KiB per run at {figures['runs']} runs that wait on the model.")


def streams() -> None:
    """From the commit of an event to its arrival at a client, with 200 streams open."""
    with bench(call_seconds=1.0) as surroundings, TemporaryDirectory() as teams_dir:
        figures = asyncio.run(measure(surroundings, Path(teams_dir), 200))
    print(
        f"\nStreams: 200 open; from the commit of an event to its arrival {figures['median_ms']:.1f} ms (median), "
        f"{figures['p99_ms']:.1f} ms (99th percentile), {figures['arrivals']} arrivals; "
        f"at most {figures['reader_kib']:.0f} KiB a reader."
    )


def readers() -> None:
    """What readers cost one process, and how late events come to them."""
    print("\n| readers | CPU of the process | delay of an event: median | 99th percentile | arrivals |")
    print("|---|---|---|---|---|")
    for count in (0, 10, 1000):
        with (
            bench(call_seconds=1.0, script="script_in_turn") as surroundings,
            TemporaryDirectory() as teams_dir,
        ):
            print(f"| {count} | {asyncio.run(measure_readers(surroundings, Path(teams_dir), count))} |")


def takeover() -> None:
    """How long a run stands still when its replica is killed."""
    with bench(call_seconds=0.05) as surroundings:
        for name, settings in (("a lease of 10 s", SLOW), ("a lease of 2 s", FAST)):
            waits = asyncio.run(takeover_seconds(surroundings, settings, 20))
            print(f"\nTakeover with {name}: {percentile(waits, 0.5):.1f} s (median), {max(waits):.1f} s (worst of 20).")


def cancel() -> None:
    """How long a run goes on that is cancelled through another replica."""
    with bench(call_seconds=0.05) as surroundings:
        for name, deaf in (("hears of it", False), ("hears nothing", True)):
            waits = asyncio.run(cancel_seconds(surroundings, 50, deaf=deaf))
            print(f"\nFrom a cancel elsewhere to the end of the model call, if the owner {name}: {spread(waits)}.")


def pickup() -> None:
    """From POST to the first model call."""
    with bench(call_seconds=0.05) as surroundings:
        for busy in (0, 200):
            waits = asyncio.run(first_calls(surroundings, 100, busy_with=busy))
            print(f"\nFrom POST to the first model call with {busy} runs in flight: {spread(waits)}.")


def replicas() -> None:
    """What more replicas bring on this machine's two cores, Postgres, provider and clients included."""
    for count in (1, 2, 3):
        with bench(call_seconds=0.05) as surroundings, TemporaryDirectory() as teams_dir:
            os.sched_setaffinity(0, MEASURED | SERVING)
            rate = asyncio.run(throughput_of(surroundings, Path(teams_dir), count, 200))
        print(f"\n{count} replicas: {rate:.1f} runs/s over HTTP.")


def failures() -> None:
    """How far budgets are overshot, and what a failing task spends in vain."""
    found = overshoot_of(1_000, seed=20_261_128)
    print(
        f"\nBudgets: {found.runs} rehearsed runs with a limit of tokens, {found.exhausted} of which met it; "
        f"largest overshoot {found.largest} tokens."
    )
    print("\n| attempts that fail | tokens | in vain | delivered | three equal attempts |")
    print("|---|---|---|---|---|")
    one = spending(1).in_vain
    for count in (1, 2):
        cost = spending(count)
        print(f"| {count} | {cost.spent:,} | {cost.in_vain:,} | {cost.delivered} | {3 * one:,}, all in vain |")


def dynamic_workers() -> None:
    """A plan of ten tasks with workers that it brings along, against one with the team's own."""
    with bench(call_seconds=0.05) as surroundings:
        figures = surroundings.measured("benchmarks.dynamic_workers", surroundings.database_url)
    print(
        f"\nTen tasks, calls of 50 ms: {figures['static'] * 1000:.0f} ms with the team's workers, "
        f"{figures['dynamic'] * 1000:.0f} ms with workers that the plan brings along (ratio {figures['ratio']:.3f})."
    )


def templates() -> None:
    """One review planned by a template, against the same review planned by the supervisor's model."""
    with bench(call_seconds=0.05) as surroundings:
        figures = surroundings.measured("benchmarks.templates", surroundings.database_url)
    print("\n| planned by | calls | tokens | cost in USD | time with calls of 50 ms |")
    print("|---|---|---|---|---|")
    for kind, told in figures.items():
        print(
            f"| {kind} | {told['calls']:.0f} | {told['tokens']:,.0f} | {told['cost_usd']:.4f} "
            f"| {told['seconds'] * 1000:.0f} ms |"
        )


def reductions() -> None:
    """How large the supervisor's requests become, by merge and by reduce."""
    measure_reductions()


def hostile() -> None:
    """How often models that lie get a run to end dishonestly."""
    found = outcome_of(1_000)
    for title, counts in (
        ("What befell them", found.met),
        ("Replies sent back", found.sent_back),
        ("How they ended", found.ends),
        ("What was dishonest", found.dishonest),
    ):
        print(f"\n| {title} | of {found.runs} runs |\n|---|---|")
        print("\n".join(f"| {name} | {count} |" for name, count in counts.most_common()) or "| nothing | 0 |")
    named = f" ({', '.join(map(str, found.dishonest_runs))})" if found.dishonest_runs else ""
    print(f"\n{found.runs} hostile runs, {len(found.dishonest_runs)} ended dishonestly{named}.")


def nested() -> None:
    """Three nested runs of four tasks, against one run of twelve."""
    with bench(call_seconds=0.05) as surroundings:
        figures = surroundings.measured("benchmarks.nested", surroundings.database_url)
    flat, nested_ms = figures["flat"] * 1000, figures["nested"] * 1000
    print(
        f"\nTwelve tasks, calls of 50 ms: {flat:.0f} ms in one run, {nested_ms:.0f} ms as three nested runs of four "
        f"(ratio {figures['ratio']:.2f}; 1.67 by the calls in a row alone)."
    )


def findings() -> None:
    """How many of two hundred scripted findings end where they should."""
    found = measure_findings()
    print("\n| finding | scripted | where it should be | how they ended |\n|---|---|---|---|")
    for kind, count in KINDS.items():
        ends = ", ".join(f"{number} {end}" for end, number in found.ended[kind].most_common())
        print(f"| {kind} | {count} | {found.well[kind]} | {ends} |")
    for step, counts in found.counts:
        print(f"\n`{step}`: {', '.join(f'{name} {count}' for name, count in counts.items())}.")
    print(
        f"\n{sum(KINDS.values())} scripted findings, {sum(found.well.values())} ended where they should; "
        f"{found.looks} second looks; placing and merging took {found.placing_ms:.0f} ms."
    )


def code_review() -> None:
    """A change of a hundred files and ten thousand lines through the built-in team."""
    with bench(call_seconds=0.5) as surroundings:
        found = surroundings.measured("benchmarks.code_review", surroundings.database_url)
    first = found[0]
    print("\n| worker | tasks | tokens read by each |\n|---|---|---|")
    for name, told in first["workers"].items():
        print(f"| {name} | {told['tasks']} | {told['tokens']:,.0f} |")
    files = ", ".join(f"{count} {status}" for status, count in first["files"].items())
    print(
        f"\n{first['tasks']} tasks, {first['calls']} calls, {first['tokens']:,} tokens, {first['cost_usd']:.2f} USD; "
        f"files: {files}; "
        f"{first['share']:.0%} of those to be reviewed were, in whole."
    )
    print("\n| tasks at once | time with calls of 500 ms | critical path | over it |\n|---|---|---|---|")
    for told in found:
        over = told["wall_ms"] - told["critical_path_ms"]
        print(f"| {told['concurrency']} | {told['wall_ms']} ms | {told['critical_path_ms']} ms | {over} ms |")


def masking() -> None:
    """What it costs to look for credentials in all that is stored."""
    found = measure_masking()
    print(
        f"\nMasking takes {found.masking_ns:.0f} ns a character, {found.masking_keys_ns:.0f} ns where each hundred of "
        f"them have a credential; writing it as JSON {found.writing_ns:.1f} ns."
    )


def metrics() -> None:
    """What it costs to count, and to be scraped every second."""
    with bench(call_seconds=0.05) as surroundings:
        found = surroundings.measured(
            "benchmarks.metrics", surroundings.database_url, surroundings.stub_url, 200, AT_ONCE
        )
    counted, plain = found["with"], found["without"]
    print(
        f"\nMetrics: {counted['runs_per_s']:.1f} runs/s with, {plain['runs_per_s']:.1f} without "
        f"(ratio {counted['runs_per_s'] / plain['runs_per_s']:.3f}); CPU of a run {counted['cpu_ms']:.2f} ms with, "
        f"{plain['cpu_ms']:.2f} ms without (ratio {counted['cpu_ms'] / plain['cpu_ms']:.3f}). "
        f"A scrape takes {found['scrape_ms']:.1f} ms and has {found['scrape_bytes'] / 1000:.0f} kB."
    )


def webhooks() -> None:
    """From the end of a run to its receiver, which fails every second time, while 500 runs end in a minute."""
    with bench(call_seconds=0.05) as surroundings:
        found = surroundings.measured("benchmarks.webhooks", surroundings.database_url, surroundings.stub_url, 500, 60)
    first, delivered = found["first_ms"], found["delivered_ms"]
    print(
        f"\nWebhooks: {found['told']} runs ended in {found['wall_s']:.0f} s. From the end of a run to the first attempt"
        f" {first[0]:.0f} ms (median), {first[1]:.0f} ms (99th percentile). {found['delivered']} were delivered by the"
        f" second attempt, after {delivered[0]:.0f} ms (median), {delivered[1]:.0f} ms (99th percentile); "
        f"{found['attempts']} attempts."
    )


def limits() -> None:
    """What keys and limits cost a request, and what limits cost a job beside 200,000 runs that have ended."""
    with bench(call_seconds=0.05) as surroundings:
        found = surroundings.measured(
            "benchmarks.limits", surroundings.database_url, surroundings.stub_url, 500, 200_000
        )
    for kind, costs in found.items():
        print(f"\n| {kind} | CPU | ratio | median time | ratio |\n|---|---|---|---|---|")
        first = next(iter(costs.values()))
        for name, told in costs.items():
            ratios = [told[each] / first[each] for each in ("cpu_ms", "median_ms")]
            print(
                f"| {name} | {told['cpu_ms']:.2f} ms | {ratios[0]:.2f} | {told['median_ms']:.2f} ms | {ratios[1]:.2f} |"
            )


def tracing() -> None:
    """What it costs to tell a collector of runs, without their content and with it."""
    print("\n| told | runs/s with | without | ratio | CPU of a run with | without | ratio | spans a run | lost |")
    print("|---|---|---|---|---|---|---|---|---|")
    for content in (False, True):
        with bench(call_seconds=0.05) as surroundings, swallowing() as collector_url:
            arguments = (surroundings.database_url, surroundings.stub_url, collector_url, 200, AT_ONCE, content)
            found = surroundings.measured("benchmarks.tracing", *arguments)
        told, plain = found["with"], found["without"]
        print(
            f"| {'with' if content else 'without'} content | {told['runs_per_s']:.1f} | {plain['runs_per_s']:.1f} "
            f"| {told['runs_per_s'] / plain['runs_per_s']:.3f} | {told['cpu_ms']:.2f} ms | {plain['cpu_ms']:.2f} ms "
            f"| {told['cpu_ms'] / plain['cpu_ms']:.3f} | {found['spans_per_run']:.1f} | {found['lost']} |"
        )


def run_lists() -> None:
    """Every filter and order of a list, where a tenant has 200,000 runs, and what the indexes cost those who write."""
    found, wrote, took_s = measure_run_lists()
    print(f"\n{RUNS:,} runs of one tenant, 50 of another; pages of 20. The indexes of lists took {took_s:.1f} s.")
    print("\n| filter | sorted by | tenant | median | 99th percentile | found by |\n|---|---|---|---|---|---|")
    for each in found:
        print(
            f"| {each.name} | {each.sort} | {each.tenant} | {each.median_ms:.1f} ms | {each.p99_ms:.1f} ms "
            f"| {each.nodes} |"
        )
    print(
        f"\nAccepting and beginning a run with three labels: {wrote.with_ms:.2f} ms and {wrote.with_bytes:,.0f} bytes "
        f"of log with the indexes of lists, {wrote.without_ms:.2f} ms and {wrote.without_bytes:,.0f} without "
        f"(ratios {wrote.with_ms / wrote.without_ms:.3f}, {wrote.with_bytes / wrote.without_bytes:.3f})."
    )


def console() -> None:
    """A long run in a browser: how soon it is seen, and how smoothly it goes on."""
    found = measure_console()
    print(
        f"\nA run of 100 tasks and 5,000 events: first paint after {percentile(found.paint_ms, 0.5):.0f} ms, live "
        f"after {percentile(found.live_ms, 0.5):.0f} ms (medians of {len(found.live_ms)} first visits); over the wire "
        f"{found.files_bytes / 1000:.0f} kB of files and {found.data_bytes / 1000:.0f} kB of data."
    )
    print("\n| what is shown | frames due | too late | longest gap |\n|---|---|---|---|")
    for shown, (due, late, gap) in found.frames.items():
        print(f"| {shown} | {due} | {late} ({late / due:.1%}) | {gap:.0f} ms |")
    print("\n| events read | memory of the page's values |\n|---|---|")
    for events, mib in found.heap_mib.items():
        print(f"| {events:,} | {mib:.1f} MiB |")


def _service(surroundings: Bench, runs: int, at_once: int, stagger_s: float = 0) -> dict[str, Any]:
    return surroundings.measured(
        "benchmarks.service", surroundings.database_url, surroundings.stub_url, runs, at_once, stagger_s
    )


_PARTS = (
    throughput,
    slow_calls,
    memory,
    streams,
    readers,
    takeover,
    cancel,
    pickup,
    replicas,
    failures,
    dynamic_workers,
    templates,
    reductions,
    hostile,
    nested,
    findings,
    code_review,
    masking,
    metrics,
    webhooks,
    limits,
    tracing,
    run_lists,
    console,
)
PARTS = {part.__name__: part for part in _PARTS}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
