"""The reference job by the service, beside bare programs that do the same: some store nothing, one is durable."""

from dataclasses import dataclass
from typing import Any

from benchmarks import durable_floor
from benchmarks.bench import Bench, bench
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
    written: dict[str, float] | None = None
    """To Postgres, per run."""

    def __str__(self) -> str:
        figures = f"| {self.name} | {self.runs_per_s:.1f} | {self.alone:.2f} | {self.cpu_ms:.2f} ms |"
        if self.written is None:
            return f"{figures} | | |"
        return f"{figures} {self.written['commits']:.1f} | {self.rows:.0f} | {self.kb:.0f} kB |"

    @property
    def rows(self) -> float:
        """Inserted or updated per run."""
        assert self.written is not None
        return self.written["inserted"] + self.written["updated"]

    @property
    def kb(self) -> float:
        """Log per run."""
        assert self.written is not None
        return self.written["wal_bytes"] / 1000


def measure() -> None:
    """Print the table, and how far the service is from its aims."""
    with bench(call_seconds=CALL_SECONDS) as surroundings:
        print(f"\nCommits of {surroundings.commit_ms:.1f} ms, {AT_ONCE} runs at once, calls of 50 ms, one core:\n")
        print("| | runs/s | one run alone over its critical path | CPU per call | commits | rows | log |")
        print("|---|---|---|---|---|---|---|")
        for transport in ("httpx2", "aiohttp"):
            figures = surroundings.measured("benchmarks.floor", surroundings.stub_url, RUNS, AT_ONCE, transport)
            print(_row(f"floor on {transport}", figures))
        durable_floor.create_tables(surroundings.database_url)
        floor = _written_by(surroundings, "durable floor", "benchmarks.durable_floor")
        service = _written_by(surroundings, "this service", "benchmarks.service", 0)
    assert service.written is not None
    print(
        "\nCommits (every transaction that wrote something, the queue's included; runs share them), rows "
        "(inserted or updated) and log are per run; of the service's rows "
        f"{service.written['inserted']:.0f} are inserted, {service.written['updated']:.0f} updated."
    )
    print(_against(floor, service))


def _written_by(surroundings: Bench, name: str, module: str, *arguments: object) -> Row:
    """Measure a program that writes to Postgres, and print its row."""
    before = surroundings.written()
    figures = surroundings.measured(module, surroundings.database_url, surroundings.stub_url, RUNS, AT_ONCE, *arguments)
    after = surroundings.written()
    runs = RUNS + figures["extra_runs"]
    row = _row(name, figures, {each: (after[each] - before[each]) / runs for each in after})
    print(row)
    return row


def _row(name: str, figures: dict[str, Any], written: dict[str, float] | None = None) -> Row:
    return Row(
        name,
        RUNS / figures["wall"],
        figures["alone"] / (CALL_SECONDS * CALLS_IN_A_ROW),
        figures["cpu"] / RUNS / MODEL_CALLS * 1000,
        written,
    )


def _against(floor: Row, service: Row) -> str:
    """The service's figures beside its aims."""
    return "\n".join(
        [
            "\nThe service over the durable floor, and what we aim at:\n",
            f"- runs/s: {service.runs_per_s / floor.runs_per_s:.2f} (0.7 or more)",
            f"- CPU per call: {service.cpu_ms / floor.cpu_ms:.2f} (1.4 or less)",
            f"- one run alone: {service.alone / floor.alone:.2f} (1.15 or less)",
            f"- rows a run: {service.rows:.0f} (70 or less; the floor: {floor.rows:.0f})",
            f"- log a run: {service.kb:.0f} kB (60 or less; the floor: {floor.kb:.0f})",
        ]
    )
