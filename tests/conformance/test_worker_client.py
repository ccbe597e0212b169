"""The public MCP conformance suite plays the server for the Worker's MCP adapter, up to the date without sessions."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

SUITE = ROOT / ".conformance" / "node_modules" / "mcp-conformance-next" / "dist" / "index.js"
NODE = ROOT / ".conformance" / "node_modules" / ".bin" / "node"
SUITE_S = 90
SCENARIOS = ("sse-retry", "request-metadata", "http-custom-headers", "http-invalid-tool-headers", "json-schema-2020-12-preservation")
# Not among them: auth (a Source's token is the owner's to give), elicitation and sampling (no Worker offers them).


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_worker_passes_the_suite_as_a_client(scenario, tmp_path):
    if not SUITE.exists():
        pytest.skip("the suite is not in .conformance: run .ci/run, which installs it")
    command = f"{sys.executable} -m tests.conformance.own_worker"
    done = subprocess.run([str(NODE), str(SUITE), "client", "--command", command, "--scenario", scenario, "-o", str(tmp_path)],
                          cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=SUITE_S)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "OVERALL: PASSED" in said and ", 0 failed" in said, said[-3_000:]
