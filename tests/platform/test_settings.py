from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.settings import Settings, SettingsError, read_settings
from app.store.vault import Vault


def test_an_empty_environment_means_a_private_database_and_the_demo_model() -> None:
    settings = read_settings()

    assert settings.database_url is None
    assert settings.home == Path(".chargehand")
    assert settings.answering_model == "demo"
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)


def test_by_default_the_runs_of_a_dead_process_go_on_within_fifteen_seconds() -> None:
    settings = read_settings()

    # The lease lapses, then the reconciler's next look announces the run, and the queue's next one finds the entry
    # should its notice be lost.
    assert settings.lease_seconds + 2 * settings.poll_seconds <= 15


@pytest.mark.parametrize(
    ("name", "value"),
    [("ANTHROPIC_API_KEY", "sk-ant-0123456789"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")],
)
def test_a_key_or_a_base_url_chooses_claude(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    assert read_settings().answering_model == "claude"


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    monkeypatch.setenv("CHARGEHAND_PORT", "")

    assert read_settings().answering_model == "demo"
    assert read_settings().port == 8000


def test_demo_by_name_wins_over_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    monkeypatch.setenv("CHARGEHAND_MODEL", "demo")

    assert read_settings().answering_model == "demo"


def test_claude_by_name_without_a_way_to_reach_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARGEHAND_MODEL", "claude")

    with pytest.raises(SettingsError, match="CHARGEHAND_MODEL=claude needs ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL"):
        read_settings()


def test_a_misspelt_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARGEHAND_PROT", "8001")

    with pytest.raises(SettingsError, match="unknown setting: CHARGEHAND_PROT"):
        read_settings()


def test_what_clients_go_by_may_stand_beside_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHARGEHAND_API_KEY", "CHARGEHAND_URL", "CHARGEHAND_PROFILE"):
        monkeypatch.setenv(name, "x")

    assert read_settings() == Settings()


@pytest.mark.parametrize("service", ["CHARGEHAND", "CHARGEHAND_API"])
def test_what_kubernetes_says_of_a_service_is_no_setting(monkeypatch: pytest.MonkeyPatch, service: str) -> None:
    monkeypatch.setenv(f"{service}_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv(f"{service}_SERVICE_PORT", "8000")
    monkeypatch.setenv(f"{service}_SERVICE_PORT_HTTP", "8000")
    monkeypatch.setenv(f"{service}_PORT", "tcp://10.0.0.1:9000")
    monkeypatch.setenv(f"{service}_PORT_9000_TCP", "tcp://10.0.0.1:9000")
    monkeypatch.setenv(f"{service}_PORT_9000_TCP_PROTO", "tcp")
    monkeypatch.setenv(f"{service}_PORT_9000_TCP_PORT", "9000")
    monkeypatch.setenv(f"{service}_PORT_9000_TCP_ADDR", "10.0.0.1")

    assert read_settings() == Settings()
    assert read_settings().port == 8000


@pytest.mark.parametrize("name", ["CHARGEHAND_API_PORT", "CHARGEHAND_SERVICE", "CHARGEHAND_PORT_9000"])
def test_a_name_that_only_resembles_those_of_kubernetes_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "9000")

    with pytest.raises(SettingsError, match=f"unknown setting: {name}"):
        read_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CHARGEHAND_PORT", "65536"),
        ("CHARGEHAND_PORT", "http"),
        ("CHARGEHAND_RUNS_AT_ONCE", "0"),
        ("CHARGEHAND_LEASE_SECONDS", "0"),
        ("CHARGEHAND_CALL_ATTEMPTS", "51"),
        ("CHARGEHAND_MODEL", "gpt"),
        ("CHARGEHAND_LOG_FORMAT", "xml"),
        ("CHARGEHAND_RETENTION_DAYS", "0"),
        ("CHARGEHAND_TEAMS_DIR", "/nowhere"),
        ("CHARGEHAND_TEAMS_DIR", __file__),
        ("ANTHROPIC_BASE_URL", "ftp://models"),
    ],
)
def test_a_value_out_of_bounds_is_refused_in_one_line_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError) as refusal:
        read_settings()

    assert str(refusal.value).startswith(f"{name}: ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("url", ["mysql://chargehand:hunter2@db/x", "chargehand:hunter2@db/x"])
def test_another_database_is_refused_without_showing_its_password(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)

    with pytest.raises(SettingsError) as refusal:
        read_settings()

    assert str(refusal.value) == "DATABASE_URL: must start with postgresql:// or postgres://"


def test_secrets_stay_out_of_the_printed_form() -> None:
    settings = Settings.model_validate(
        {"anthropic_api_key": "sk-ant-hunter2", "database_url": "postgresql://chargehand:hunter2@db/x"}
    )

    assert "hunter2" not in repr(settings) + str(settings) + settings.model_dump_json()


def test_settings_never_change() -> None:
    settings = read_settings()

    with pytest.raises(ValidationError):
        settings.port = 1  # type: ignore[misc]


@pytest.mark.parametrize("written", ["/v1", "/v1/", "/v1/messages", "/v1/messages/", "/", "", "/v1\n", " "])
def test_the_address_of_a_server_is_understood_with_and_without_its_path(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    for root in ("http://127.0.0.1:8080", "https://models.example/proxy"):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", root + written)
        assert read_settings().anthropic_base_url == root


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "  "])
def test_line_ends_and_spaces_around_what_is_sent_to_others_are_taken_off(
    monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", f" sk-ant-0{end}")
    monkeypatch.setenv("CHARGEHAND_MODEL_FAST", f"small{end}")
    monkeypatch.setenv("CHARGEHAND_MODEL_DEEP", end)
    settings = read_settings()
    assert settings.anthropic_api_key is not None
    assert settings.anthropic_api_key.get_secret_value() == "sk-ant-0"
    assert (settings.model_fast, settings.model_deep) == ("small", "claude-opus-5-5")


@pytest.mark.parametrize("key", ["sk ant", "sk\nant", "sk-ä", "“sk”", "sk\x7f"])
def test_a_key_that_fits_no_header_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    with pytest.raises(SettingsError) as caught:
        read_settings()
    assert str(caught.value) == "ANTHROPIC_API_KEY: must be one word of plain characters"


def test_prices_are_read_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARGEHAND_MODEL_PRICES", '{"local": {"input": "0.25", "output": 0}}')

    price = read_settings().model_prices["local"]

    assert (price.input, price.output, price.cache_read) == (Decimal("0.25"), Decimal(0), None)


@pytest.mark.parametrize(
    "value", ["nonsense", '{"local": 3}', '{"local": {"input": -1, "output": 0}}', '{"local": {}}']
)
def test_prices_that_are_none_stop_the_start_in_one_line(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CHARGEHAND_MODEL_PRICES", value)

    with pytest.raises(SettingsError, match=r"^CHARGEHAND_MODEL_PRICES") as caught:
        read_settings()

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "key", ["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", f"{'-_' * 21}A=,{'+/' * 21}A=", f"{'A' * 43}=\n"]
)
def test_keys_for_secrets_are_32_bytes(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("CHARGEHAND_SECRETS_KEY", key)

    kept = read_settings().secrets_key

    assert kept is not None
    assert Vault(kept.get_secret_value().split(","))


@pytest.mark.parametrize("key", ["secret", "MDEyMzQ1Njc4OWFiY2RlZg==", f"{'A' * 43}=,"])
def test_what_is_no_key_for_secrets_is_refused_without_being_said(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("CHARGEHAND_SECRETS_KEY", key)

    with pytest.raises(SettingsError, match="CHARGEHAND_SECRETS_KEY: must be the base64 of 32") as refused:
        read_settings()

    assert key not in str(refused.value).replace("openssl rand -base64 32", "")


def test_hosts_of_webhooks_are_named_with_their_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARGEHAND_WEBHOOK_HOSTS", "Hooks.internal:8443, [::1]:80,")
    assert read_settings().webhook_hosts == {("hooks.internal", 8443), ("::1", 80)}

    for wrong in ("hooks.example", "a:0", "a:65536", "a:b", "http://hooks.example:80", "a:80/", "::1:80"):
        monkeypatch.setenv("CHARGEHAND_WEBHOOK_HOSTS", f"hooks.internal:8443,{wrong}")
        with pytest.raises(SettingsError, match=f"CHARGEHAND_WEBHOOK_HOSTS: must name hosts .*; {wrong} is none"):
            read_settings()


def test_a_service_named_for_metrics_sets_no_port_of_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARGEHAND_METRICS_PORT", "tcp://10.0.0.1:9000")

    assert read_settings().metrics_port is None
