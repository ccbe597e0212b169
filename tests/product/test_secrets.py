"""What a `run` adapter of the same user can read: every environment and command line it may open holds no secret of ours."""

from __future__ import annotations

import json
from pathlib import Path

from tests.product.every_gap import lay_out

SNOOP = '''
def snoop(folder):
    import glob
    seen = {}
    for place in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/task/*/environ"):
        try:
            with open(place, "rb") as file:
                seen[place] = file.read().decode("utf-8", "replace")
        except OSError as problem:
            seen[place] = "refused: %s" % problem.strerror
    with open(os.path.join(folder, "..", "snooped.json"), "w") as file:
        json.dump({"own": dict(os.environ), "seen": seen}, file)


'''


def test_an_adapter_that_reads_every_process_finds_no_secret(product, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    lay_out(folder)
    reader = folder / "adapters" / "read_input.py"
    text = reader.read_text("utf-8")
    reader.write_text(text.replace("def main():\n", SNOOP + "def main():\n    snoop(os.environ['RULITH_SOURCE_ACCESS'])\n", 1), "utf-8")
    run = product.run("demo", "verified-calculation", str(folder), cwd=tmp_path, env={"ACME_API_KEY": "sk-ambient-key", "MY_SECRET": "hush"})
    assert run.status == 0, run
    snooped = json.loads((folder / "snooped.json").read_text("utf-8"))
    instance = next((folder / ".rulith" / "workbench" / "instances").iterdir())
    secrets: set[str] = set()
    for place in (instance / "agent.secrets.json", instance / "worker.secrets.json", folder / ".rulith" / "workbench" / "device.secrets.json",
                  *(folder / ".rulith" / "gateway" / "secrets").iterdir()):
        secrets |= {value for value in json.loads(place.read_text("utf-8")).values() if isinstance(value, str) and len(value) >= 32}
    assert len(secrets) >= 4, "the test does not know our secrets"
    roles = [place for place, text in snooped["seen"].items() if place.endswith("cmdline") and ".pyz" in text]
    assert len(roles) >= 4, f"the adapter saw only {roles}"
    for place, text in snooped["seen"].items():
        for secret in secrets:
            assert secret not in text, f"{place} shows a secret of ours"
    assert set(snooped["own"]) & {"ACME_API_KEY", "MY_SECRET"} == set()
    assert {name for name in snooped["own"] if name.startswith("RULITH_")} <= {
        "RULITH_INVOCATION_ID", "RULITH_SOURCE_ACCESS", "RULITH_SOURCE_TYPE", "RULITH_EXECUTION_KEY"}
