"""Ray itself: starting it or connecting to it, its actors, and the bundles that they load."""

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

# Nothing leaves the machine: Ray would report its use. And its C++ library writes to stderr.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")

import ray
import ray.data
from ray._private import worker
from ray.data import ActorPoolStrategy

from nmt_cli import models
from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.packages import model_folder
from nmt_cli.errors import ModelError, NmtError, ResourceError, first_line
from nmt_cli.files import failures, locked
from nmt_cli.host import cores, variable, without_stderr

logger = logging.getLogger(__name__)
# Ray would write its errors to stdout in the course of retries, even without `log_to_driver`.
worker.print_to_stdstream = lambda data, ignore_prefix: None

OBJECT_STORE = 256 << 20  # bytes, with Ray on this machine only
WATCH_SECONDS = 0.5


@dataclass(frozen=True)
class RaySettings:
    """Where to translate, and with how many actors.

    Attributes:
        address: the address of a Ray cluster; None to start Ray on this machine for the job.
        threads: cores to use in all; default: all of the cluster.
        workers: actors, which share the cores; default: one per core, or per GPU.
    """

    address: str | None = None
    threads: int | None = None
    workers: int | None = None
    device: str = "cpu"
    provider: str | None = None

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Start Ray or connect to it until the block ends."""
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        context.target_max_block_size = 1  # a row is a shard: pass each on at once
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        with ExitStack() as stack:
            options: dict[str, Any] = {"address": self.address}
            if not self.address:
                folder = stack.enter_context(_folder())
                reserved = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                options = {
                    "address": "local",
                    "num_cpus": self.threads or cores(),
                    "object_store_memory": OBJECT_STORE,
                    # Without a free port, no process looks up in which cloud this machine is.
                    "include_dashboard": False,
                    "dashboard_port": reserved.getsockname()[1],
                    "_temp_dir": str(folder),
                }
                # Ray would write a token at home, and give actors the lowest priority. Its ports
                # are open, but nobody else has the token.
                stack.enter_context(variable("RAY_AUTH_TOKEN", secrets.token_hex(32)))
                stack.enter_context(variable("RAY_worker_niceness", "0"))
            try:
                if self.address and self.address != "auto":  # Ray would wait for minutes
                    host, _, port = self.address.rpartition(":")
                    socket.create_connection((host, int(port)), timeout=10).close()
                handler = signal.getsignal(signal.SIGTERM)  # Ray's would print its stack
                with without_stderr():
                    ray.init(**options, log_to_driver=False, logging_level=logging.CRITICAL)
                signal.signal(signal.SIGTERM, handler)
            except Exception as error:  # of many kinds
                reason = f"`address={options['address']}`: no Ray cluster ({first_line(error)})"
                hint = "use HOST:PORT of one started with 'ray start --head', or omit `address`"
                raise ResourceError(reason, hint) from None
            stack.callback(ray.shutdown)
            if not self.address:
                stack.enter_context(_watched(folder))
            yield

    def actors(self) -> tuple[dict[str, Any], int]:
        """Return arguments of Ray Data's map functions for the actors, and the threads of each."""
        resources = ray.cluster_resources()
        gpus = 0 if self.device == "cpu" else resources.get("GPU", 0)
        if self.device == "cuda" and not gpus:
            raise ResourceError("`device=cuda`: Ray has found no GPU", "use `device=cpu`")
        threads = self.threads or int(resources.get("CPU", 0)) or self.workers
        if not threads:
            raise ResourceError("Ray's nodes have no cores yet", "wait for them, or give `workers`")
        workers = self.workers or int(gpus) or threads
        share = threads // workers or threads / workers
        largest = max(node["Resources"].get("CPU", 0) for node in ray.nodes())
        if 0 < largest < share:  # Ray would wait for a larger node
            reason = f"`threads={threads}` with {workers} workers: needs {share} cores on a node"
            raise ResourceError(reason, f"the largest has {largest:.0f}; use more `workers`")
        # All of them if there is room; one is enough to begin.
        pool = ActorPoolStrategy(min_size=1, max_size=workers, initial_size=workers)
        shares = {"num_cpus": share, "num_gpus": gpus // workers or gpus / workers}
        return {**shares, "compute": pool}, max(1, threads // workers)


@contextmanager
def _folder() -> Iterator[Path]:
    """Create a temporary folder for Ray, and remove those of jobs that were killed."""
    # The paths of Ray's sockets in it have at most 107 characters.
    root = Path(tempfile.gettempdir() if len(tempfile.gettempdir()) < 31 else "/tmp")
    for left in root.glob("nmt-r????????"):
        with suppress(NmtError), locked(left):
            shutil.rmtree(left, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix="nmt-r", dir=root, ignore_cleanup_errors=True) as name,
        locked(Path(name)),
    ):
        yield Path(name)


@contextmanager
def _watched(folder: Path) -> Iterator[None]:
    """End this process with a message if one of Ray's dies: Ray would end it without any."""
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(WATCH_SECONDS):
            if dead := worker._global_node.dead_processes():
                hint = "check the free memory; `resume` continues the job"
                logger.error(f"nmt: Ray's process {dead[0][0]} died; {hint}")
                with suppress(Exception):
                    worker._global_node.kill_all_processes(check_alive=False, allow_graceful=False)
                shutil.rmtree(folder, ignore_errors=True)
                folder.with_name(f".{folder.name}.lock").unlink(missing_ok=True)
                os._exit(1)  # the main thread may be waiting for Ray

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


@dataclass(frozen=True)
class SharedBundle:
    """A bundle that actors load: from its folder, or from a copy that each node makes once.

    Attributes:
        folder: the driver's folder.
        digest: hash of its manifest, which has the hashes of all other files.
        files: Ray's reference to its files by name; None if all actors can read the folder.
    """

    folder: Path
    digest: str
    files: Any

    @classmethod
    def of(cls, model: Path, copied: bool) -> "SharedBundle":
        """Share a bundle, if ``copied`` with nodes that may not see its folder."""
        folder = model_folder(model)
        if models.kind_of(folder) != "bundle":
            reason = f"{model}: is a run; translating on Ray needs a bundle"
            raise ModelError(reason, "make one with nmt export --onnx")
        paths = [path for path in sorted(folder.rglob("*")) if copied and path.is_file()]
        files = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
        return cls(folder.resolve(), _digest(folder), ray.put(files) if copied else None)

    def local(self) -> Path:
        """Return a folder of this node that has the bundle."""
        copies = Path(tempfile.gettempdir(), f"nmt-{os.getuid()}")
        copy = copies / self.digest
        for folder in (self.folder, copy):
            if _digest(folder) == self.digest:
                return folder
        with failures(copy):
            copies.mkdir(mode=0o700, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=copies) as name:
                unfinished = Path(name, "bundle")
                for path, content in ray.get(self.files).items():
                    (unfinished / path).parent.mkdir(parents=True, exist_ok=True)
                    (unfinished / path).write_bytes(content)
                with suppress(OSError):  # another actor was first
                    unfinished.rename(copy)
        return copy


def open_shared(
    bundles: Sequence[SharedBundle], settings: RaySettings, threads: int
) -> models.TranslationModel:
    """Open bundles in an actor."""
    first, *more = [bundle.local() for bundle in bundles]
    return models.open(
        first, *more, threads=threads, device=settings.device, provider=settings.provider
    )


def _digest(folder: Path) -> str:
    try:
        return sha256((folder / MANIFEST).read_bytes()).hexdigest()
    except OSError:
        return ""
