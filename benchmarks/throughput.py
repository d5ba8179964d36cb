"""The reference job by the service, beside bare programs that do the same: some store nothing, one is durable."""

from dataclasses import dataclass
from typing import Any

from benchmarks import durable_floor
from benchmarks.bench import Bench, Written, bench
from benchmarks.reference_job import CALLS_IN_A_ROW, MODEL_CALLS

RUNS, AT_ONCE = 300, 50
CALL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """What one program needs for the reference job."""

    name: str
    runs_per_s: float
    alone: float
    """One run alone, over its critical path."""
    cpu_ms: float
    """Per model call."""

    def __str__(self) -> str:
        written = self.written_columns()
        return f"| {self.name} | {self.runs_per_s:.1f} | {self.alone:.2f} | {self.cpu_ms:.2f} ms | {written} |"

    def written_columns(self) -> str:
        """What it writes: nothing."""
        return "| |"


@dataclass(frozen=True, slots=True)
class DurableRow(Row):
    """The same of a program that writes to Postgres."""

    written: Written
    """Per run."""

    def written_columns(self) -> str:
        """What it writes."""
        return f"{self.written.commits:.1f} | {self.written.rows:.0f} | {self.written.log_bytes / 1000:.0f} kB"


def measure() -> None:
    """Print the table, and how far the service is from its aims."""
    with bench(call_seconds=CALL_SECONDS) as surroundings:
        print(f"\nCommits of {surroundings.commit_ms:.1f} ms, {AT_ONCE} runs at once, calls of 50 ms, one core:\n")
        print("| | runs/s | one run alone over its critical path | CPU per call | commits | rows | log |")
        print("|---|---|---|---|---|---|---|")
        for transport in ("httpx2", "aiohttp"):
            figures = surroundings.measured("benchmarks.floor", surroundings.stub_url, RUNS, AT_ONCE, transport)
            print(Row(f"floor on {transport}", *_spent(figures)))
        durable_floor.create_tables(surroundings.database_url)
        floor = _durable_row(surroundings, "durable floor", "benchmarks.durable_floor")
        service = _durable_row(surroundings, "this service", "benchmarks.service", 0)
    written = service.written
    print(
        "\nPer run; commits are transactions that wrote something, the queue's included, and runs share them. "
        f"Of the service's rows {written.inserted:.0f} are inserted, {written.updated:.0f} updated."
    )
    print(_against(floor, service))


def _durable_row(surroundings: Bench, name: str, module: str, *arguments: object) -> DurableRow:
    """Measure a program that writes to Postgres, and print its row."""
    before = surroundings.written()
    figures = surroundings.measured(module, surroundings.database_url, surroundings.stub_url, RUNS, AT_ONCE, *arguments)
    written = surroundings.written().per_run(before, RUNS + figures["extra_runs"])
    row = DurableRow(name, *_spent(figures), written)
    print(row)
    return row


def _spent(figures: dict[str, Any]) -> tuple[float, float, float]:
    alone = figures["alone"] / (CALL_SECONDS * CALLS_IN_A_ROW)
    return RUNS / figures["wall"], alone, figures["cpu"] / RUNS / MODEL_CALLS * 1000


def _against(floor: DurableRow, service: DurableRow) -> str:
    """The service's figures beside its aims."""
    log_kb, least_kb = service.written.log_bytes / 1000, floor.written.log_bytes / 1000
    return "\n".join(
        [
            "\nThe service over the durable floor, and what we aim at:\n",
            f"- runs/s: {service.runs_per_s / floor.runs_per_s:.2f} (0.7 or more)",
            f"- CPU per call: {service.cpu_ms / floor.cpu_ms:.2f} (1.4 or less)",
            f"- one run alone: {service.alone / floor.alone:.2f} (1.15 or less)",
            f"- rows a run: {service.written.rows:.0f} (70 or less; the floor: {floor.written.rows:.0f})",
            f"- log a run: {log_kb:.0f} kB (60 or less; the floor: {least_kb:.0f})",
        ]
    )
