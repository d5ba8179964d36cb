"""What looks like a credential is masked, wherever it stands, once and for all; what does not is left alone."""

import base64
import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.credentials import Dictation, has_mark, without_credentials
from app.domain.job import Job
from app.domain.masking import masked

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0b\nuAcR==\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    "sk-ant-api03-Ab0cDe1fGh2iJk3l", "sk-proj-0123456789abcdef01", "sk_live_51Habcdef0123456789",
    "sk-test-0000111122223333",
    "AKIAEXAMPLE00000000", "ASIAIOSFODNN7EXAMPLE", "AIzaSyA-0123456789abcdefghijklmnopqrstu",
    "ya29.a0AfH6SMBx0123456789-abcdef", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "github_pat_11ABCDEFG0123456789_ab",
    "glpat-0123456789abcdefghij", "xoxb-123456789012-abcdefghijkl", "npm_0123456789abcdefghijABCDEFGHIJ012345",
    "hf_0123456789abcdefghijABCDEFGHIJ0123", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    f"chk_{'a1' * 8}_{'0f' * 32}", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SflKxwRJSMeKKF2QT4",
    "SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc",
]  # fmt: skip
PLAIN = [
    "task-1234567890123456789", "a risk-based-approach-2024-of-things", "Bearer certificates of deposit",
    "bearer authentication",
    "https://example.org:8080/path", "git+ssh://git@example.org:22/x", "http://a.b/c:d@e", "sk-learn", "SG.1",
    "eyJust.a.word",
    "disk-0123456789abcdefgh", "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
    "ghp_short", "Basic knowledge",
    base64.b64encode(b"\x00\xa2\x00" + bytes(30)).decode(), base64.b64encode(b"\x01\x22\x00\x40" + bytes(9)).decode(),
]  # fmt: skip
AROUND = ["{}", "key={}", '"{}"', "({})", "a {} b", "first\n{}\nlast", "\t{}", "Authorization: Bearer {}", "é{}"]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", AROUND)
def test_a_credential_is_masked_wherever_it_stands(secret: str, around: str) -> None:
    text = around.format(secret)

    shown = without_credentials(text)

    assert secret not in shown
    assert has_mark(shown)
    assert without_credentials(shown) == shown


@pytest.mark.parametrize("secret", [*SECRETS, PEM.split("\n")[1]])
@pytest.mark.parametrize("around", AROUND)
def test_json_stays_json_and_says_the_same(secret: str, around: str) -> None:
    text = around.format(PEM if secret in PEM else secret)
    written = json.dumps({"a": text, "b": [text, {text: 1}], "c": json.dumps({"d": text})}, ensure_ascii=False)

    shown = without_credentials(written)

    assert secret not in shown
    assert json.loads(shown)["a"] == without_credentials(text)


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_credential_is_left_alone(text: str) -> None:
    assert without_credentials(text) == text


def test_what_stands_around_a_secret_stays() -> None:
    assert without_credentials("postgresql://svc:p4ss@db/x?a=b").startswith("postgresql://svc:[secret:")
    assert without_credentials("postgresql://svc:p4ss@db/x?a=b").endswith("]@db/x?a=b")
    shown = without_credentials(f"before {PEM} after")
    assert shown.startswith("before -----BEGIN RSA PRIVATE KEY-----[secret:")
    assert shown.endswith("-----END RSA PRIVATE KEY----- after")


def test_equal_ones_have_equal_marks_and_different_ones_do_not() -> None:
    one, other, again = (without_credentials(f"x {each}") for each in (SECRETS[0], SECRETS[1], SECRETS[0]))

    assert one == again != other


@given(st.text(max_size=300))
def test_any_text_is_masked_once(text: str) -> None:
    shown = without_credentials(text)

    assert without_credentials(shown) == shown


@pytest.mark.parametrize("secret", [*SECRETS, PEM, "postgresql://svc:p4ssw0rd@db/x"])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_a_credential_that_is_written_piece_by_piece_is_never_seen(secret: str, size: int) -> None:
    text, dictation = f"The key is {secret} and no more.\n", Dictation()

    told = "".join(dictation.after(text[start : start + size]) for start in range(0, len(text), size))

    longest = "p4ssw0rd" if "p4ssw0rd" in secret else max(re.findall(r"[A-Za-z0-9]+", secret), key=len)
    assert longest not in told
    assert re.sub(r"\S*\[secret:\w{4}\]", "[secret]", told) == re.sub(
        r"\S*\[secret:\w{4}\]", "[secret]", without_credentials(text)
    )


def test_text_without_credentials_is_passed_on_as_it_comes() -> None:
    dictation = Dictation()

    assert [dictation.after(piece) for piece in ("It ends in s", "k", ", and goes on.")] == [
        "It ends in s",
        "k",
        ", and goes on.",
    ]


@pytest.mark.parametrize(
    "evil",
    [
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "://",
        "bearer ",
        "eyJ",
        "eyJa.",
        "ya29.",
        "SG.aaaaaaaaaaaaaaaaaaaa.",
        "://a:",
        "gh",
    ],
)
def test_no_text_takes_long(evil: str) -> None:
    text = evil * (300_000 // len(evil))
    start = time.perf_counter()

    without_credentials(text)
    Dictation().after(text)

    assert time.perf_counter() - start < 2


def test_a_job_is_masked_but_for_inputs_that_its_team_keeps_and_bytes() -> None:
    job = Job.model_validate(
        {
            "objective": f"Use {SECRETS[0]}.",
            "rubric": f"Not {SECRETS[0]}.",
            "metadata": {"note": SECRETS[0], "n": 1},
            "inputs": [{"name": "a.env", "content": f"KEY={SECRETS[0]}"}],
        }
    )

    whole, kept = masked(job, inputs=True), masked(job, inputs=False)

    assert SECRETS[0] not in whole.model_dump_json()
    assert kept.inputs == job.inputs
    assert SECRETS[0] not in kept.model_copy(update={"inputs": ()}).model_dump_json()
    assert whole.metadata["n"] == 1
