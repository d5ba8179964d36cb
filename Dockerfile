FROM python:3.13-slim AS build

WORKDIR /srv/chargehand
COPY requirements-run.lock .
# Every package is checked against its hash here; the environment below takes what it needs from these wheels alone.
RUN pip wheel --no-cache-dir --no-deps --require-hashes --wheel-dir /wheels -r requirements-run.lock
COPY pyproject.toml README.md ./
COPY app app
COPY migrations migrations
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --no-index --find-links /wheels --compile -e .


FROM python:3.13-slim

RUN useradd --system --uid 10001 --no-create-home chargehand
COPY --from=build /opt/venv /opt/venv
COPY --from=build /srv/chargehand /srv/chargehand
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /srv/chargehand
USER chargehand
EXPOSE 8000
CMD ["chargehand", "serve", "--host", "0.0.0.0"]
