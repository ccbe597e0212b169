"""TLS contexts: whom a client trusts, what a server shows.

A client trusts SSL_CERT_FILE alone where it is set; else the machine's store and the
shipped certifi roots. RULITH_CA_FILE is trusted in addition: a company's own root.
certifi is read as text, because inside an archive its file has no path.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from importlib import resources

from rulith.base.errors import Refused


def _load_file(context: ssl.SSLContext, setting: str, path: str) -> None:
    try:
        context.load_verify_locations(cafile=path)
    except (OSError, ssl.SSLError) as problem:
        raise Refused("ca_file_unreadable", setting=setting, path=path,
                      problem=getattr(problem, "strerror", None) or problem) from None


def client_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """A verifying client context. Costs tens of milliseconds: make one per process, on first need.

    Raises Refused ca_file_unreadable.
    """
    own_store = environ.get("SSL_CERT_FILE", "")
    if own_store:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _load_file(context, "SSL_CERT_FILE", own_store)
    else:
        context = ssl.create_default_context()
        context.load_verify_locations(cadata=resources.files("certifi").joinpath("cacert.pem").read_text("ascii"))
    extra = environ.get("RULITH_CA_FILE", "")
    if extra:
        _load_file(context, "RULITH_CA_FILE", extra)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def server_context(cert: str, key: str) -> ssl.SSLContext:
    """A context that shows the PEM chain at `cert` with the key at `key`. Raises Refused tls_files_unusable."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # The password callback keeps OpenSSL from asking for one on the terminal.
        context.load_cert_chain(cert, key, password=lambda: b"")
    except (OSError, ssl.SSLError) as problem:
        raise Refused("tls_files_unusable", cert=cert, key=key,
                      problem=getattr(problem, "strerror", None) or problem) from None
    return context
