"""The step model of a bundle, on ONNX Runtime.

Bundles come from other machines: correct hashes do not make their graphs correct. A graph must have
the inputs and outputs that the manifest declares; ONNX Runtime refuses operators that it does not
have, and weights outside the folder. All its failures and malformed outputs are raised as
ModelError.
"""

import hashlib
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.bundle import ENCODER, LEXICON, MANIFEST, WEIGHTS
from nmt_cli.bundle.manifest import GraphSpec, Manifest, TensorSpec, id_bytes, mismatch
from nmt_cli.errors import ModelError, OptionError, ResourceError, first_line
from nmt_cli.runtime.state import DeviceState, HostState, encode_on_device
from nmt_cli.search.step_model import BatchTooLarge, Candidates, Floats, Ids, Mask
from nmt_cli.text.tokenizer import PAD_ID

OnnxState = HostState | DeviceState
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
DEVICES = ("auto", "cpu", "cuda")

HINT = "export the bundle again"
_FATAL_ONLY = 4  # errors are raised as exceptions, too
# Tokens that the encoder reads at a time: its intermediate results then fit in the processor's
# cache, which is several times faster.
ENCODER_TOKENS = 1024
# Messages of ONNX Runtime's allocators.
_OUT_OF_MEMORY = ("allocate memory", "bad_alloc", "out of memory", "bad allocation")
# Creating sessions in parallel crashed once in thousands of starts. Triton's backend has the same
# lock (microsoft/onnxruntime 27089, triton-inference-server/onnxruntime_backend 174).
_ONE_AT_A_TIME = Lock()
# Tokens that every shortlist has: the first ones of the file.
ALWAYS = 64


class OnnxStepModel:
    """Runs a bundle's graphs (search.step_model.StepModel).

    Batches may run in several threads at the same time. A step uses up the state that it is
    given. All methods raise ModelError if ONNX Runtime fails or a graph returns what search cannot
    use (a wrong shape, a token outside the vocabulary, NaN), and BatchTooLarge if memory runs out.

    Args:
        folder, manifest: of a bundle whose files have been checked.
        threads: inside each operator.
        provider: ONNX Runtime's execution provider.
        private: read graphs and weights into memory: a mapped file that another program truncates
            ends the process.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        threads: int = 1,
        provider: str = CPU,
        private: bool = False,
    ) -> None:
        self._folder, self._manifest, self._provider = folder, manifest, provider
        self._threads = threads
        self.alignment_heads = manifest.alignment_heads
        self._sessions: dict[str, Any] = {}
        self._files = _files_of(folder, manifest) if private else {}
        self._vocab_size = self._candidates = manifest.vocabulary["target"]
        self._shortlists: Shortlists | None = None
        # On a GPU, the product with the whole vocabulary is cheap.
        shortlist = None if provider == CUDA else manifest.shortlist
        self._encoder = self.session(manifest.encoder)
        # With shortlists, the step of the whole vocabulary is rarely needed, and loaded then.
        self._step = self.session(shortlist.step if shortlist else manifest.decoder)
        if shortlist:
            self._columns = self.session(shortlist.columns)
            self._candidates = shortlist.size
            self._shortlists = Shortlists.read(folder, manifest)
        # Providers other than CUDA exchange host memory, and ONNX Runtime copies it.
        self._append = self.session(manifest.append) if provider == CUDA else None
        self._caches = manifest.caches
        self._dtype = np.float16 if self._caches[0].dtype == "float16" else np.float32

    def session(self, graph: GraphSpec) -> Any:
        """Return ONNX Runtime's session of one of the bundle's graphs, loaded once."""
        if graph.file not in self._sessions:
            session = self._started(graph.file)
            _check_signature(session, graph, self._folder / graph.file)
            self._sessions[graph.file] = session
        return self._sessions[graph.file]

    def _started(self, file: str) -> Any:
        path, provider = self._folder / file, self._provider
        # A program that imports onnxruntime before nmt_cli has its telemetry on.
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _FATAL_ONLY
        options.intra_op_num_threads = self._threads
        # Memory plans are cached by shape, and search never sees a shape twice.
        options.enable_mem_pattern = False
        # Passes for another form of quantization; they take a fifth of the load time.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        if file == ENCODER:
            # Otherwise its idle threads spin on the cores that the decoder needs.
            options.add_session_config_entry("session.force_spinning_stop", "1")
        try:
            # ONNX Runtime takes UTF-8, whatever the locale.
            source: str | bytes = os.fsencode(path).decode("utf-8")
            if self._files:
                source, weights = self._files[file], self._files[WEIGHTS]
                options.add_external_initializers_from_files_in_memory(
                    [WEIGHTS], [weights], [len(weights)]
                )
            # The CPU runs the operators that another provider lacks.
            providers = list(dict.fromkeys([provider, CPU]))
            with _ONE_AT_A_TIME:
                session = onnxruntime.InferenceSession(source, options, providers=providers)
        except UnicodeDecodeError:
            raise ModelError(
                f"{path}: ONNX Runtime reads only paths that are valid UTF-8", "rename the folder"
            ) from None
        except Exception as error:
            raise ModelError(
                f"{path}: ONNX Runtime cannot load it ({first_line(error)})", HINT
            ) from None
        if provider not in session.get_providers():
            # ONNX Runtime silently falls back to the CPU where a driver is missing.
            raise ResourceError(
                f"{provider}: the installed onnxruntime offers it, but cannot start it",
                "check the device's driver and libraries, or use `device=cpu`",
            )
        return session

    def encode(self, source: Ids) -> OnnxState:
        """Read source ids [B, S]."""
        caches = {cache.name: cache.sized({"B": len(source), "P": 0}) for cache in self._caches}
        with self._failures():
            if self._append is None:
                encoder_output = self._encode_in_slices(source)
                if self._shortlists:
                    encoder_output |= self._shortened(source)
                return HostState(self._step, encoder_output, caches, self._vocab_size)
            memory = "cuda" if self._provider == CUDA else "cpu"
            encoder_output = encode_on_device(self._encoder, source, memory)
            return DeviceState(self._step, self._append, memory, encoder_output, caches)

    def _shortened(self, source: Ids) -> dict[str, NDArray[Any]]:
        """Return a batch's shortlists and their columns of the softmax layer."""
        assert self._shortlists is not None
        shortlist = self._shortlists.of(source)
        names = [tensor.name for tensor in self._columns.get_outputs()]
        values = self._columns.run(names, {"shortlist": shortlist})
        return dict(zip(names, values, strict=True), shortlist=shortlist)

    def _encode_in_slices(self, source: Ids) -> dict[str, NDArray[Any]]:
        """Run the encoder on a few sentences at a time; return all its outputs by name."""
        count, width = source.shape
        outputs = {
            tensor.name: np.empty(tensor.sized({"B": count, "S": width}), self._dtype)
            for tensor in self._manifest.encoder.outputs
        }
        rows = max(1, ENCODER_TOKENS // width)
        for start in range(0, count, rows):
            piece = slice(start, start + rows)
            binding = self._encoder.io_binding()
            binding.bind_cpu_input("source", source[piece])
            for name, values in outputs.items():
                binding.bind_ortvalue_output(
                    name, onnxruntime.OrtValue.ortvalue_from_numpy(values[piece])
                )
            self._encoder.run_with_iobinding(binding)
        return outputs

    def step(self, state: OnnxState, tokens: Ids, ancestry: Mask) -> tuple[Candidates, OnnxState]:
        """Read one token per beam; see search.step_model."""
        try:  # not self._failures, which takes a hundredth of a step
            candidates = state.step(tokens, ancestry)
        except Exception as error:
            raise self._failure(error) from error
        scores, ids = candidates.scores, candidates.ids
        shape = (*tokens.shape, min(tokens.shape[1], self._candidates))
        if scores.shape != shape or ids.shape != shape:
            raise self._wrong(f"candidates of shapes {scores.shape} and {ids.shape}, not {shape}")
        # Read as unsigned, negative ids are large; the minimum is NaN if any score is.
        if int(ids.view(np.uint32).max()) >= self._vocab_size:
            raise self._wrong(f"tokens outside the vocabulary of {self._vocab_size:,}")
        if math.isnan(scores.min()):
            raise self._wrong("scores that are NaN")
        return candidates, state

    def log_probs(self, state: OnnxState, tokens: Ids, ancestry: Mask) -> tuple[Floats, OnnxState]:
        """Like :meth:`step`, but all log-probabilities, float32 [B, K, V], without a shortlist."""
        session = self.session(self._manifest.decoder)
        with self._failures():
            log_probs = state.log_probs(session, tokens, ancestry)
        shape = (*tokens.shape, self._vocab_size)
        if log_probs.shape != shape or math.isnan(log_probs.max()):
            raise self._wrong(f"no log-probabilities of shape {shape}")
        return log_probs, state

    def attention(self, state: OnnxState, tokens: Ids, ancestry: Mask) -> Floats:
        """Attention of the next step to the source; see search.step_model."""
        session = self.session(attention_graph(self._folder, self._manifest))
        with self._failures():
            weights = state.attention(session, tokens, ancestry)
        shape = (*weights.shape[:1], *weights.shape[3:4])
        if shape != tokens.shape or not np.isfinite(weights).all():
            raise self._wrong("attention weights that are not finite")
        return weights

    def self_attention(self, source: Ids, target: Ids) -> dict[str, Floats]:
        """Self-attention of both sides, if the bundle has its graph; see search.step_model."""
        graph = self._manifest.self_attention
        if graph is None:
            return {}
        session, names = self.session(graph), [tensor.name for tensor in graph.outputs]
        with self._failures():
            sides = session.run(names, {"source": source, "target": target})
        if not all(np.isfinite(weights).all() for weights in sides):
            raise self._wrong("attention weights that are not finite")
        return {
            name: weights.astype(np.float32) for name, weights in zip(names, sides, strict=True)
        }

    def select(self, state: OnnxState, rows: NDArray[np.int64]) -> OnnxState:
        """Return the state of some of the sentences."""
        with self._failures():
            return state.select(rows)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> Exception:
        """Translate an error of ONNX Runtime, whose exceptions have no common base."""
        text = str(error).lower()
        if isinstance(error, MemoryError) or any(message in text for message in _OUT_OF_MEMORY):
            return BatchTooLarge()
        return self._wrong(f"an error of ONNX Runtime: {first_line(error)}")

    def _wrong(self, problem: str) -> ModelError:
        return ModelError(f"{self._folder}: its graphs returned {problem}", HINT)


def _check_signature(session: Any, graph: GraphSpec, path: Path) -> None:
    """Compare the inputs and outputs of a loaded graph with the manifest's."""
    for declared, tensors in (
        (graph.inputs, session.get_inputs()),
        (graph.outputs, session.get_outputs()),
    ):
        actual = [
            TensorSpec(tensor.name, tensor.type[len("tensor(") : -1], tuple(tensor.shape))
            for tensor in tensors
        ]
        if problem := mismatch(actual, declared):
            raise ModelError(f"{path}: not the graph that {MANIFEST} describes ({problem})", HINT)


def _files_of(folder: Path, manifest: Manifest) -> dict[str, bytes]:
    """Read the weights and graphs of a bundle, which must not have changed."""
    files = dict[str, bytes]()
    for name in (WEIGHTS, *(graph.file for graph in manifest.graphs.values())):
        files[name] = (folder / name).read_bytes()
        if hashlib.sha256(files[name]).hexdigest() != manifest.files[name].sha256:
            raise ModelError(f"{folder / name}: was changed while it was read", HINT)
    return files


def attention_graph(folder: Path, manifest: Manifest) -> GraphSpec:
    """Return the bundle's step with attention weights; one exported without it is an error."""
    if manifest.attention is None:
        raise ModelError(
            f"{folder}: was exported without attention weights",
            "export it again with `attention`, or use the run",
        )
    return manifest.attention


class Shortlists:
    """Vocabulary shortlists: the only target tokens that a sentence's translation is made of.

    Every sentence has exactly N: those that the bundle always allows, then the translations of the
    sentence's tokens, the most probable of each first, then the most frequent. They depend on
    nothing but the sentence.

    The bundle's LEXICON has ids only, unsigned and little-endian: N in the order in which they fill
    a shortlist, and a row of translations for each source id.

    Args:
        filling: [N] different ids.
        translations: [source ids, translations].
    """

    def __init__(self, filling: Ids, translations: Ids, vocab_size: int) -> None:
        self.size = len(filling)
        self._first, self._last = filling[:ALWAYS], filling[ALWAYS:]
        self._translations, self._vocab_size = translations, vocab_size

    @classmethod
    def read(cls, folder: Path, manifest: Manifest) -> "Shortlists":
        """Read a bundle's file, of the size that the manifest says."""
        shortlist, vocab_size = manifest.shortlist, manifest.vocabulary["target"]
        assert shortlist is not None
        ids = np.fromfile(folder / LEXICON, f"<u{id_bytes(vocab_size)}")
        filling, table = ids[: shortlist.size], ids[shortlist.size :]
        if len(np.unique(filling)) < shortlist.size or ids.max() >= vocab_size:
            raise ModelError(f"{folder / LEXICON}: not a list of tokens", HINT)
        rows = table.reshape(-1, shortlist.translations)
        return cls(filling.astype(np.int32), rows.astype(np.int32), vocab_size)

    def write(self, folder: Path) -> None:
        """Write a bundle's file."""
        ids = np.concatenate([self._first, self._last, self._translations.ravel()])
        ids.astype(f"<u{id_bytes(self._vocab_size)}").tofile(folder / LEXICON)

    def of(self, source: Ids) -> Ids:
        """Return the shortlist, ascending, of each sentence of [B, S] padded with PAD: [B, N]."""
        shortlists = np.empty((len(source), self.size), np.int32)
        first = np.empty(self._vocab_size, np.int32)  # positions of ids
        for row, sentence in zip(shortlists, source, strict=True):
            translations = self._translations[sentence[sentence != PAD_ID]].T.ravel()
            ids = np.concatenate([self._first, translations, self._last])
            order = np.arange(len(ids), dtype=np.int32)
            first[ids[::-1]] = order[::-1]  # an id that occurs twice keeps its first position
            row[:] = np.sort(ids[first[ids] == order][: self.size])
        return shortlists


def find_provider(device: str = "cpu", provider: str | None = None) -> str:
    """Return the execution provider that was requested, as ONNX Runtime names it.

    Args:
        device: one of DEVICES; "auto" is CUDA where the installed onnxruntime has it.
        provider: an execution provider by name, with or without "ExecutionProvider";
            overrides ``device``.
    """
    available = onnxruntime.get_available_providers()
    if provider is not None:
        for name in available:
            if provider.lower() in (name.lower(), name.lower().removesuffix("executionprovider")):
                return name
        offered = ", ".join(name.removesuffix("ExecutionProvider") for name in available)
        raise ResourceError(
            f"`provider={provider}`: the installed onnxruntime does not offer it",
            f"it offers {offered}; others come with packages such as onnxruntime-gpu, "
            "onnxruntime-openvino, onnxruntime-directml",
        )
    if device not in DEVICES:
        raise OptionError(f"`device={device}` is unknown", f"use one of {', '.join(DEVICES)}")
    if device == "cuda" and CUDA not in available:
        raise ResourceError(
            "`device=cuda`: the installed onnxruntime does not support CUDA",
            "pip uninstall onnxruntime; pip install onnxruntime-gpu (or use `device=cpu`)",
        )
    return CUDA if device != "cpu" and CUDA in available else CPU
