"""Refusal codes of the net: listening, addresses, certificates, proxies."""

CODES: dict[str, tuple[str, str]] = {
    "port_in_use": (
        "Another program already listens on {host} port {port}.",
        "Stop it, or choose another port.",
    ),
    "address_unusable": (
        "This machine cannot listen on {host} port {port}: {problem}.",
        "Use 127.0.0.1 and a port above 1023.",
    ),
    "url_unusable": (
        "The address {url!r} cannot be used: {problem}.",
        "Write it as http://host:port/path or https://host/path, with no user name in it.",
    ),
    "ca_file_unreadable": (
        "{setting} names {path!r}, which holds no readable certificates: {problem}.",
        "Point it at a PEM file of certificate authorities, or unset it.",
    ),
    "tls_files_unusable": (
        "The certificate {cert!r} with the key {key!r} cannot serve TLS: {problem}.",
        "Give a PEM certificate chain and its unencrypted private key.",
    ),
    "proxy_unusable": (
        "{setting} names the proxy {proxy!r}, which cannot be used: {problem}.",
        "Write it as http://host:port, or list this destination in NO_PROXY.",
    ),
}
