"""Use models: nmt translate (also --interactive and --trace), serve, score and tokenize."""

import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmt_cli.cli.lookup import MODELS, PREPARED, find_model, find_recipe, is_recipe, open_model
from nmt_cli.cli.options import INPUT, PATH, Hardware, command, decoding_options, option_group, say
from nmt_cli.errors import InputError, NmtError, ResourceError
from nmt_cli.files import standard_output
from nmt_cli.host import without_warnings
from nmt_cli.jobs.files import STDIN, Sink, name_of, open_lines
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.models import AnyModel, PivotModel, TranslationModel
from nmt_cli.options import PositiveInt, option
from nmt_cli.search.options import DecodingOptions
from nmt_cli.serve.options import ServeOptions
from nmt_cli.text.lines import aligned

if TYPE_CHECKING:
    from socket import socket

    from nmt_cli.search.lines import Translation
    from nmt_cli.search.trace import Search

PROMPT = "> "
_HISTORY_LINES = 1000


@command(example="echo 'Onde fica a farmácia?' | nmt translate -m exports/mine")
@click.argument("files", nargs=-1, type=INPUT)
@option_group(TranslateOptions, "options")
@decoding_options()
def translate(
    files: tuple[Path, ...],
    options: TranslateOptions,
    decoding: DecodingOptions,
    hardware: Hardware,
    models: tuple[Path, ...] = MODELS,
) -> None:
    """Translate text, records or documents.

    Reads FILES, or standard input. N lines in, N lines out, in order; a blank line stays as it is.
    Extra output (--scores, --alignments, --tokens) follows the text in tab-separated columns, in
    this order.
    """
    output = None if options.output in (Path("-"), Path("/dev/stdout")) else options.output
    options = replace(options, files=files, output=output, decoding=decoding).resolved()
    began = time.monotonic()
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if options.engine:
        from nmt_cli.ray.cluster import RaySettings
        from nmt_cli.ray.engine import translate_files as translate_on_ray

        bundles = [find_model(path) for path in models or (None,)]
        settings = RaySettings(options.address, **vars(hardware))
        counts = translate_on_ray(options, bundles, settings, _progress if terminal else None)
    else:
        model: AnyModel
        if options.pivot:
            model = PivotModel([open_model([path], hardware) for path in models])
        else:
            model = open_model(models, hardware)
        if options.interactive:
            _converse(options, model)
            return
        # Imported while the model is being loaded.
        from nmt_cli.jobs.translate import translate_files

        # A progress bar would mix with translations on the same terminal.
        mixed = output is None and sys.stdout is not None and sys.stdout.isatty()
        with _ending_by_sigpipe():
            if options.trace:
                assert isinstance(model, TranslationModel)
                _trace(options, model)
                return
            counts = translate_files(options, model, _progress if terminal and not mixed else None)
    if counts.lines and (output or terminal):
        say(counts.summary(time.monotonic() - began))


@contextmanager
def _ending_by_sigpipe() -> Iterator[None]:
    """End silently like other filters if the reader of standard output is gone."""
    try:
        yield
    except BrokenPipeError:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[int], object]]:
    from tqdm import tqdm  # importing it takes a tenth of the time of a single line

    with tqdm(total=total, desc="translating", unit="line") as bar:
        yield bar.update


def _converse(options: TranslateOptions, model: AnyModel) -> None:
    """Ask for lines until the input ends, and print the translation of each.

    On a terminal, lines can be edited, and the arrow keys recall earlier ones.
    """
    from nmt_cli.jobs.records import Lines
    from nmt_cli.jobs.shards import RowTranslator

    if sys.stdin is None:
        raise NmtError("standard input is closed", "`interactive` needs a terminal")
    sink = Sink(standard_output("`interactive` needs a terminal"))
    rows = RowTranslator(model.translator(options.decoding, single=True), options, "the line")
    form = Lines(options)
    lines = _typed() if sys.stdin.isatty() else open_lines(STDIN, options.errors)
    for number, line in enumerate(lines, start=1):
        try:
            for output in form.stream([line.encode()], number, rows):
                sink.write(output)
        except NmtError as error:  # about this line only
            say(str(error))


def _typed() -> Iterator[str]:
    """Read lines from the terminal and add them to the history."""
    import readline

    # As the XDG base directory specification defines for state.
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    history = Path(base, "nmt", "history")
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(_HISTORY_LINES)
    say("type a line to translate it; Ctrl-D ends")
    try:
        while True:
            # Invalid UTF-8 arrives as unpaired surrogates.
            yield input(PROMPT).encode("utf-8", "replace").decode()
    except EOFError:
        print(flush=True)
    finally:
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)


def _trace(options: TranslateOptions, model: TranslationModel) -> None:
    """Print the searches for every line, as text or, with ``json``, as one object per line."""
    sink = Sink(standard_output())
    for path in options.files or (STDIN,):
        for line in open_lines(path, options.errors):
            translation, searches = model.trace(line, options.decoding)
            if options.json:
                trees = [asdict(search) for search in searches]
                record = {"text": translation.text, "score": translation.score, "searches": trees}
                sink.write([json.dumps(record, ensure_ascii=False)])
            else:
                sink.write(list(_as_text(translation, searches)))


def _as_text(translation: "Translation", searches: "list[Search]") -> Iterator[str]:
    for search in searches:
        yield f"source: {' '.join(search.source)}"
        for number, step in enumerate(search.steps, start=1):
            yield f"step {number}"
            for beam in step.beams:
                tokens = " ".join(beam.tokens) or "(start)"
                yield f"  beam {beam.number}: {tokens}  {beam.total:.3f}"
                for candidate in beam.candidates:
                    chosen = f"  -> {candidate.beam}" if candidate.beam else ""
                    sums = f"{candidate.log_prob:8.3f} {candidate.total:8.3f}"
                    yield f"    {candidate.token:16} {sums}{chosen}"
            for hypothesis in step.finished:
                quotient = f"{hypothesis.total:.3f} / {hypothesis.length_penalty:.3f}"
                tokens = " ".join(hypothesis.tokens)
                yield f"  finished: {tokens}  {quotient} = {hypothesis.score:.3f}"
        yield f"stopped: {search.stopped}"
    yield f"translation: {translation.text}  {translation.score:.3f}"
    yield ""


@command(example="nmt serve exports/pt-en exports/en-pt --port 5000")
@click.argument("models", nargs=-1, envvar=["NMT_MODEL"], type=PATH)
@option_group(ServeOptions, "options")
def serve(models: tuple[Path, ...], options: ServeOptions) -> None:
    """Serve models over HTTP: a page and three JSON interfaces.

    The interfaces are those of LibreTranslate, DeepL and Apertium. MODELS are bundles or names of
    installed models. A log of requests, without texts, goes to standard output. On SIGTERM, SIGINT
    and SIGHUP, the server finishes pending requests and exits.
    """
    from nmt_cli.serve.app import create_app
    from nmt_cli.serve.server import Server
    from nmt_cli.serve.service import Service

    service = Service([find_model(path) for path in models or (None,)], options)

    def log(line: str) -> None:
        with suppress(OSError):  # nobody reads it
            click.echo(line)

    app = create_app(service, log)
    with _listening(options.host, options.port) as listener:
        host, port = listener.getsockname()[:2]
        pairs = ", ".join(f"{model.source}-{model.target}" for model in service.models.served)
        say(f"serving {pairs} at http://{f'[{host}]' if ':' in host else host}:{port}")
        with without_warnings("search"):  # they name texts
            Server(app, options).run(sockets=[listener])
    os._exit(0)  # Python would wait for documents whose requests have ended


def _listening(host: str, port: int) -> "socket":
    from socket import AF_INET, AF_INET6, create_server  # not at the start of nmt translate

    family = AF_INET6 if ":" in host else AF_INET
    try:
        return create_server((host, port), family=family)
    except OSError as error:
        number = error.errno or 0  # negative numbers come from getaddrinfo, for unknown hosts
        problem = f"{host}, port {port}: {os.strerror(number) if number > 0 else 'no such host'}"
        raise ResourceError(problem, "choose another `host` or `port`") from None


@command(example="nmt score test.pt test.en -m exports/docs-pt-en | paste - test.pt")
@click.argument("source", type=INPUT)
@click.argument("target", type=INPUT)
@decoding_options("length_penalty")
def score(
    source: Path,
    target: Path,
    decoding: DecodingOptions,
    hardware: Hardware,
    models: tuple[Path, ...] = MODELS,
    n_best: PositiveInt = option(
        1, "TARGET has N lines for each line of SOURCE, as nmt translate --n-best writes them."
    ),
    tokens: bool = option(False, "Add two columns: the tokens, and their scores."),
    as_json: bool = option(False, "Write one JSON object per line.", flags="--json"),
) -> None:
    """Score given translations.

    Prints one score per line of SOURCE and TARGET: the log-probability (natural logarithm) of the
    translation and its end token, divided by the length penalty, as the search scores hypotheses.
    --length-penalty 0 gives the plain log-probability. The score is nan if a side is longer than
    the model reads at a time.
    """
    from nmt_cli.jobs.records import column_text
    from nmt_cli.jobs.shards import extra_fields

    if str(source) == str(target) == "-":
        raise click.UsageError("SOURCE and TARGET cannot both be standard input")
    sink = Sink(standard_output())
    sources, targets = open_lines(source), open_lines(target)
    repeated = chain.from_iterable(repeat(line, n_best) for line in sources)
    pairs = aligned(repeated, targets, (name_of(source), name_of(target)))
    translator = open_model(models, hardware).translator(decoding)
    too_long, all_fields = 0, TranslateOptions(json=True)
    with _ending_by_sigpipe():
        for pair in translator.score(pairs):
            unscored = math.isnan(pair.score)
            too_long += unscored
            fields = extra_fields(pair, all_fields)
            if as_json:
                record = fields | {"score": None} if unscored else fields  # JSON has no NaN
                sink.write([json.dumps(record, ensure_ascii=False)])
            else:
                columns = [fields[name] for name in ("score", "tokens", "token_scores")]
                sink.write(["\t".join(map(column_text, columns if tokens else columns[:1]))])
    if too_long:
        say(f"{too_long:,} pairs are longer than the model reads at a time: nan")


@command(example="echo 'Bom dia!' | nmt tokenize -m exports/docs-pt-en")
@click.argument("file", default="-", type=INPUT)
def tokenize(
    file: Path,
    model: Path | None = option(
        None,
        "Run, bundle, installed model, prepared data, or a recipe whose data is under prepared/; "
        "default: as for nmt translate.",
        flags="-m",
    ),
    target: bool = option(False, "Use the target vocabulary."),
    ids: bool = option(False, "Ids instead of tokens."),
    detokenize: bool = option(False, "Read tokens, or ids with `ids`; write text."),
) -> None:
    """Split text into a model's tokens.

    Reads FILE or standard input; one line in, one line out. "▁" in a token of SentencePiece is a
    space.
    """
    from nmt_cli.text.tokenizer import encode_lines, load_tokenizers

    sink = Sink(standard_output())
    lines = open_lines(file)
    pair = load_tokenizers(_folder(model) / "tokenizer")
    tokenizer = pair.target if target else pair.source
    numbers = range(tokenizer.vocab_size if detokenize else 0)
    entries = map(str, numbers) if ids else tokenizer.tokens(numbers)
    vocabulary = dict(zip(entries, numbers, strict=True))
    with _ending_by_sigpipe():
        for number, line in enumerate(lines, start=1):
            if detokenize:
                words = [word for word in line.split(" ") if word]
                if unknown := [word for word in words if word not in vocabulary]:
                    problem = f"{unknown[0]!r} is not in the vocabulary"
                    where = f"{name_of(file)}, line {number}"
                    raise InputError(f"{where}: {problem}", "see `ids` and `target`")
                sink.write(tokenizer.decode([[vocabulary[word] for word in words]]))
            else:
                (sequence,) = encode_lines(tokenizer, [line])
                words = [*map(str, sequence)] if ids else tokenizer.tokens(sequence)
                sink.write([" ".join(words)])


def _folder(model: Path | None) -> Path:
    """Return the folder that has the tokenizers of a model or a recipe."""
    if not model or not is_recipe(model):
        return find_model(model)
    prepared = PREPARED / find_recipe(str(model)).label
    if not prepared.exists():
        raise InputError(f"{prepared}: no prepared data", f"run nmt prepare {model} first")
    return prepared
