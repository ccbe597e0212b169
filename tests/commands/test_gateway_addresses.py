"""Where a gateway listens: plain on loopback, over TLS elsewhere, and nothing in between."""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.commands.gateway_address import read_addresses
from rulith.disk.home import Home
from rulith.disk.profiles import device_secrets

ROOT = Path(__file__).resolve().parents[2]
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl program")


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


@pytest.mark.parametrize(("listen", "cert", "key", "code"), [
    ("0.0.0.0:8443", None, None, "listen_needs_tls"),
    ("example.org:8443", None, None, "listen_needs_tls"),
    ("127.0.0.1", None, None, "listen_malformed"),
    ("127.0.0.1:99999", None, None, "listen_malformed"),
    ("127.0.0.1:x", None, None, "listen_malformed"),
    ("0.0.0.0:8443", "a.pem", None, "tls_pair_needed"),
    ("0.0.0.0:8443", None, "a.pem", "tls_pair_needed"),
    (None, "a.pem", "b.pem", "tls_pair_needed"),
    ("0.0.0.0:8443", "/no/such/cert.pem", "/no/such/key.pem", "tls_files_unusable"),
])
def test_an_address_that_would_show_credentials_is_refused(listen, cert, key, code) -> None:
    with pytest.raises(Refused) as refused:
        read_addresses(listen, cert, key)
    assert refused.value.code == code


@needs_openssl
def test_a_key_of_another_certificate_is_refused(pair, tmp_path) -> None:
    other = tmp_path / "other.pem"
    subprocess.run(["openssl", "genrsa", "-out", str(other), "2048"], check=True, capture_output=True)
    with pytest.raises(Refused) as refused:
        read_addresses("0.0.0.0:0", pair[0], str(other))
    assert refused.value.code == "tls_files_unusable"


@needs_openssl
def test_a_gateway_with_a_certificate_serves_both_addresses(pair, tmp_path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("RULITH_")}
    env |= {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "RULITH_LOG": "json"}
    order = [sys.executable, "-m", "rulith", "gateway", "--home", str(tmp_path / "home"), "--listen", "127.0.0.1:0",
             "--tls-cert", pair[0], "--tls-key", pair[1]]
    gateway = subprocess.Popen(order, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        said = ""
        while "Over TLS" not in said:
            line = gateway.stdout.readline()
            assert line, said
            said += line
        plain, secure = re.search(r"Gateway: (http://127\.0\.0\.1:\d+)", said)[1], re.search(r"Over TLS: (https://\S+)", said)[1]
        assert json.loads((tmp_path / "home/run/gateway.json").read_text())["url"] == plain
        trusted = ssl.create_default_context(cafile=pair[0])
        assert urllib.request.urlopen(secure + "/console/", context=trusted, timeout=10).status == 200
        assert urllib.request.urlopen(plain + "/console/", timeout=10).status == 200
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(secure + "/local/state", context=trusted, timeout=10)
        assert refused.value.code == 401
        refused.value.close()
        own = {"authorization": f"Bearer {device_secrets(Home(tmp_path / 'home')).load()['token']}"}      # counts on this computer alone
        assert urllib.request.urlopen(urllib.request.Request(plain + "/local/state", headers=own), timeout=10).status == 200
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(secure + "/local/state", headers=own), context=trusted, timeout=10)
        assert refused.value.code == 401
        refused.value.close()
    finally:
        gateway.terminate()
        assert gateway.wait(20) == 143
        gateway.stdout.close()


def test_a_log_form_that_does_not_exist_ends_the_start(tmp_path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("RULITH_")}
    done = subprocess.run([sys.executable, "-m", "rulith", "gateway", "--home", str(tmp_path / "home"), "--listen", "127.0.0.1:0"],
                          env={**env, "PYTHONPATH": str(ROOT), "RULITH_LOG": "xml"}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "RULITH_LOG is 'xml'" in done.stderr and "Traceback" not in done.stderr
