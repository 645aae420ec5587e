"""The command `gsum serve`."""

import click

from gsum_resources.settings.home import Home


@click.command()
@click.option("-p", "--port", type=int, default=8765, show_default=True, help="Port; 0: any.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--mcp", is_flag=True, help="Serve one MCP client over stdin and stdout instead.")
def serve(port: int, host: str, mcp: bool) -> None:
    """Answer questions over HTTP: a page, an API, and OpenAI's protocol for chat clients.

    Indexes stay in memory. Ctrl-C ends.
    """
    import uvicorn

    from gsum_assets.answering.workspace import open_workspace
    from gsum_assets.serve.app import new_app
    from gsum_assets.serve.service import Service

    home = Home.from_environment()
    service = Service(open_workspace(home, quick=True))
    if mcp:
        from gsum_assets.serve.mcp_server import mcp_server

        mcp_server(service).run()
        return
    click.echo(f"http://{host}:{port} answers from {home.root}; Ctrl-C ends")
    uvicorn.run(new_app(service), host=host, port=port, log_level="warning", access_log=False)
