"""The command `gsum serve`."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from gsum_resources.settings.home import Home

_RATE_WITH_TOKENS = 600  # requests a minute of a token


@click.command()
@click.option("-p", "--port", type=int, default=8765, show_default=True, help="Port; 0: any.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on, 0.0.0.0 for all. Any but this machine's own needs a token.",
)
@click.option(
    "--tokens",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with [[tokens]]: `token`, and `corpora` that it may ask.",
)
@click.option(
    "--known-as",
    multiple=True,
    metavar="NAME",
    help="Host name by which browsers reach the service, such as that of a proxy; may be repeated.",
)
@click.option(
    "--requests-per-minute",
    type=click.IntRange(min=0),
    help="Limit for each token, or each address without tokens; 0: none.  [default: 600 with "
    "tokens, else none]",
)
@click.option(
    "--idle-timeout",
    type=click.FloatRange(min=1),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="End an answer of which nothing arrives for so long, as a slow model may need.",
)
@click.option("--mcp", is_flag=True, help="Serve one MCP client over stdin and stdout instead.")
def serve(
    port: int,
    host: str,
    tokens: Path | None,
    known_as: Sequence[str],
    requests_per_minute: int | None,
    idle_timeout: float,
    mcp: bool,
) -> None:
    """Answer questions over HTTP: a page, an API, and OpenAI's protocol and Ollama's.

    Indexes stay in memory, and are replaced when a run has written newer ones. A token in
    GSUM_SERVE_TOKEN may ask all corpora. Ctrl-C ends.
    """
    # Two threads at the small products of a question wait for each other: five times as long beside
    # another process. Read when NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from gsum_assets.serve.access import access_for
    from gsum_assets.serve.app import new_app
    from gsum_assets.serve.limits import Limits
    from gsum_assets.serve.server import Server, address_of, listening_at
    from gsum_assets.serve.service import Service

    home = Home.from_environment()
    if mcp:
        from gsum_assets.serve.mcp_server import serve_stdio

        serve_stdio(Service.over(home))
        return
    access = access_for(host, os.environ, tokens, known_as)
    if requests_per_minute is None:
        requests_per_minute = _RATE_WITH_TOKENS if access.tokens else 0
    limits = Limits(requests_per_minute=requests_per_minute, idle_s=idle_timeout)
    with listening_at(host, port) as listening:
        app = new_app(Service.over(home), access, limits)
        shown = f"{address_of(*listening.getsockname()[:2])} answers from {home.root}; Ctrl-C ends"
        Server(app, limits, lambda: click.echo(shown)).run([listening])
