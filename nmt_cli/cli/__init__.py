"""The command line: parse, call one function, print. The only package that imports click.

A command is imported when it is asked for, and imports what it needs inside its function, so that
``nmt --help`` and ``nmt translate`` never wait for TensorFlow.
"""

import errno
import os
import signal
import sys
import traceback

import click

from nmt_cli import __version__
from nmt_cli.cli.commands import Commands
from nmt_cli.cli.environment import naming_variable, refused_variable
from nmt_cli.cli.options import option_error, say
from nmt_cli.errors import NmtError, OptionError

USER_ERROR = 1
INTERRUPTED = 130
# What brings a package, where it is not the extra "train".
_EXTRAS = {
    "jax": "train,jax",
    "jaxlib": "train,jax",
    "matplotlib": "plot",
    "jinja2": "train,plot",
    "srt": "formats",
    "polib": "formats",
    "markdown_it": "formats",
}


class _Group(click.Group):
    """Reports contradicting options as a usage error of the command."""

    def invoke(self, ctx: click.Context) -> object:
        """See click.Group."""
        try:
            return super().invoke(ctx)
        except OptionError as error:
            name = ctx.invoked_subcommand or ""
            command = self.get_command(ctx, name) or self
            raise option_error(error, click.Context(command, ctx, name)) from None


@click.group(
    cls=_Group,
    commands=Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog="""Options are taken from variables too: NMT_TRANSLATE_BEAM_SIZE is nmt translate
    --beam-size, NMT_MODEL is every command's --model.

    Exit codes: 0 done, 1 an error, told in one line on stderr, 2 not called as its usage says,
    130 interrupted.

    Start with: nmt quickstart
    """,
)
@click.version_option(__version__, prog_name="nmt")
@click.option("--debug", is_flag=True, help="Show the Python traceback of an error.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Train translation models from parallel text and run them anywhere.

    \b
    nmt prepare         clean and tokenize parallel text
    nmt train           train a Transformer or a recurrent model
    nmt average         average checkpoints of a training
    nmt export          write it as an ONNX bundle or a TensorFlow SavedModel
    nmt verify          check a bundle, by itself or against the trained model
    nmt inspect         tell what a run or a bundle is
    nmt translate       translate text, without TensorFlow
    nmt score           tell how likely given translations are
    nmt backtranslate   training pairs of text in the target language alone
    nmt distill         training pairs of a larger model's translations
    nmt plot            draw attention, masks, positions, and how trainings went
    nmt report          one page on a training
    """
    context.obj = debug


def main() -> None:
    """Entry point: run the command and turn its failure into one line and an exit code.

    When the reader of our output is gone, click ends the process quietly with code 1.
    """
    # Before click has parsed anything, so that errors in parsing can show a traceback too.
    debug = "--debug" in sys.argv[1:]
    _occupy_closed_streams()
    # As Ctrl-C, so that what is half-written is removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(cli(prog_name="nmt", standalone_mode=False))
    except NmtError as error:
        _fail(str(error), USER_ERROR, debug)
    except click.UsageError as error:
        variable = refused_variable(error)
        if variable:  # what was typed was right, and its usage would not help
            reason = f"{variable}: {error.message.rstrip('.')}; set it otherwise or unset it"
            _fail(reason, error.exit_code, debug)
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _fail(error.format_message(), USER_ERROR, debug)
    except (KeyboardInterrupt, click.Abort) as error:
        # click puts an Abort of its own in place of a KeyboardInterrupt, and of its message.
        _fail(str(error.__cause__ or error) or "interrupted", INTERRUPTED, debug)
    except ImportError as error:
        if error.name is None or error.name.startswith("nmt_cli"):
            raise
        package = error.name.partition(".")[0]
        extra = _EXTRAS.get(package, "train")
        _fail(f"this command needs {package}; pip install 'nmt_cli[{extra}]'", USER_ERROR, debug)
    except OSError as error:
        # Files that are written are named by those who write them.
        problem = error.strerror or str(error)
        unnamed = error.errno in (errno.ENOSPC, errno.EIO) and not error.filename
        where = "standard output" if unnamed else error.filename
        _fail(f"{where}: {problem}" if where else problem, USER_ERROR, debug)
    except Exception as error:
        _fail(
            f"unexpected {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            "; this is a defect of nmt: run again with 'nmt --debug ...' and report it",
            USER_ERROR,
            debug,
        )


def _fail(message: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    say(f"nmt: {naming_variable(cli, message)}")
    sys.exit(code)


def _occupy_closed_streams() -> None:
    """Keep files from the numbers of closed standard streams.

    A library that complains to stderr would write into whichever file had its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the smallest number that is free
