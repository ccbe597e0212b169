"""asyncio and h11: HTTP server, HTTP client, pumps. The half that waits."""
