"""nmt serve."""

import os
import socket
from contextlib import suppress
from pathlib import Path

import click

from nmt_cli.cli.lookup import find_model
from nmt_cli.cli.options import PATH, command, option_group, say
from nmt_cli.errors import ResourceError
from nmt_cli.serve.options import ServeOptions


@command(example="nmt serve exports/pt-en exports/en-pt --port 5000")
@click.argument("models", nargs=-1, type=PATH)
@option_group(ServeOptions, "options")
def serve(models: tuple[Path, ...], options: ServeOptions) -> None:
    """Serve models over HTTP: a page and two JSON interfaces.

    The interfaces are those of LibreTranslate and DeepL. MODELS are bundles or names of installed
    models. A log of requests, without texts, goes to standard output. On SIGTERM, the server
    finishes pending requests and exits.
    """
    import uvicorn

    from nmt_cli.serve.app import create_app
    from nmt_cli.serve.service import Service

    service = Service([find_model(path) for path in models or (None,)], options)
    app = create_app(service, click.echo)
    with _listening(options.host, options.port) as listener:
        host, port = listener.getsockname()[:2]
        pairs = ", ".join(f"{model.source}-{model.target}" for model in service.models.served)
        say(f"serving {pairs} at http://{f'[{host}]' if ':' in host else host}:{port}")
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
        with suppress(KeyboardInterrupt):  # uvicorn re-raises it after shutting down
            uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None) or 0
        # Negative numbers come from getaddrinfo, for unknown hosts.
        reason = os.strerror(number) if number > 0 else "no such host" if number else error
        raise ResourceError(
            f"{host}, port {port}: {reason}", "choose another `host` or `port`"
        ) from None
    return listener
