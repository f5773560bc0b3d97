"""The command line: parse, call one function, print. The only package that imports click.

Commands are imported when they are used, and import what they need inside their functions, so that
``nmt --help`` and ``nmt translate`` never wait for TensorFlow.
"""

import atexit
import errno
import gc
import os
import re
import signal
import sys
import traceback
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

import click
from click.core import ParameterSource

from nmt_cli import __version__
from nmt_cli.cli.commands import Commands, Group
from nmt_cli.cli.options import as_typed, print_messages, say
from nmt_cli.errors import NmtError


@click.group(
    cls=Group,
    commands=Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog="""\b
    Variables set defaults of options: NMT_TRANSLATE_BEAM_SIZE is --beam-size of
    nmt translate, NMT_MODEL is --model of every command.

    Exit codes: 0 success, 1 error (one line on stderr), 2 usage error, 130 interrupted.

    Start with: nmt quickstart
    """,
)
@click.version_option(__version__, prog_name="nmt")
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the Python traceback of an error."
)
def cli() -> None:
    """Train translation models from parallel text and run them anywhere."""
    print_messages()


def main() -> None:
    """Run the command; report a failure in one line on stderr and by the exit code.

    If the reader of the output is gone, click ends the process quietly with code 1.
    """
    # Imports allocate much and free nothing: frequent collections only cost time.
    gc.set_threshold(50_000)
    # At its end, Python would collect everything that was imported; files are closed by then.
    atexit.register(gc.freeze)
    # numpy's library starts threads, which first spin, for products that nmt computes elsewhere.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends nmt as Ctrl-C does
    if isinstance(sys.stdout, TextIOWrapper):
        # UTF-8 in any locale; names of files may have other bytes, which JSON can escape.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        sys.exit(cli(prog_name="nmt", standalone_mode=False))
    except click.UsageError as error:
        if variable := _invalid_variable(error):
            reason = error.message.rstrip(".")
            _fail(f"{variable}: {reason}; change or unset it", error.exit_code)
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort) as error:
        # click replaces a KeyboardInterrupt by an Abort without its message.
        _fail(str(error.__cause__ or error) or "interrupted", 130)
    except Exception as error:
        _fail(_explain(error), 1)
    finally:
        _abandon_full_streams()


def _abandon_full_streams() -> None:
    """Drop output that could not be written; Python would try again at its end, and fail."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _invalid_variable(error: click.UsageError) -> str:
    """Return the variable whose value is invalid; "" if the value was typed."""
    if not isinstance(error, click.BadParameter) or not error.ctx or not error.param:
        return ""
    if error.ctx.get_parameter_source(error.param.name or "") is not ParameterSource.ENVIRONMENT:
        return ""
    return next(name for name in error.param.envvar or "" if os.environ.get(name))


def _explain(error: Exception) -> str:
    """Return one line about an error: what is wrong, and how to fix it."""
    if isinstance(error, NmtError):
        return as_typed(str(error))
    package = ((isinstance(error, ImportError) and error.name) or "nmt_cli").partition(".")[0]
    if package != "nmt_cli":
        return f"this command needs {package}; pip install 'nmt_cli[{_extra(package)}]'"
    if isinstance(error, OSError):
        # Writers of files add the name themselves.
        unnamed = error.errno in (errno.ENOSPC, errno.EIO) and not error.filename
        where = "standard output" if unnamed else error.filename
        problem = error.strerror or str(error)
        return f"{where}: {problem}" if where else problem
    first = (str(error).splitlines() or [""])[0]
    return (
        f"unexpected {type(error).__name__}: {first}; this is a bug in nmt: run again with "
        "'nmt --debug ...' and report it"
    )


def _extra(package: str) -> str:
    """Return the extra of nmt_cli that installs a package."""
    from importlib.metadata import requires

    package = {"markdown_it": "markdown_it_py", "yaml": "pyyaml"}.get(package, package)
    for requirement in requires("nmt_cli") or ():
        name, extra = re.fullmatch(r'([\w.-]+).*?(?:extra == "([\w-]+)")?', requirement).groups()  # type: ignore[union-attr]
        if extra and re.sub("[-.]", "_", name).lower() == package:
            return extra
    return "train"


def _fail(message: str, code: int) -> NoReturn:
    if "--debug" in sys.argv[1:]:  # not the parsed value: parsing may have failed
        traceback.print_exc()
    say(f"nmt: {message}{_origin(message)}")
    sys.exit(code)


def _origin(message: str) -> str:
    """Return the NMT_* variable that the path of an error message comes from, if there is one."""
    for name, value in sorted(os.environ.items()):
        for path in filter(None, value.split(os.pathsep) if name.startswith("NMT_") else []):
            if message.startswith((f"{Path(path)}:", f"{Path(path)}/")):
                return f" (from {name})"
    return ""
