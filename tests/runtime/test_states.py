"""Caches in host memory and on a device: the same candidates as Keras at each step."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nmt_cli.bundle.reading import read_manifest
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.runtime import step_model
from nmt_cli.runtime.state import DeviceState, HostState
from nmt_cli.runtime.step_model import OnnxStepModel
from nmt_cli.search.beam import beam_search
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.step_model import Candidates
from nmt_cli.text.tokenizer import END_ID, PAD_ID
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run

Bundle = Callable[[str], Path]


def on_device(folder: Path) -> OnnxStepModel:
    """Return a model on the CPU that keeps its tensors in OrtValues, as on a GPU."""
    manifest = read_manifest(folder)
    model = OnnxStepModel(folder, manifest, threads=1)
    model._append = model.session(manifest.append)
    return model


def on_host(folder: Path) -> OnnxStepModel:
    return OnnxStepModel(folder, read_manifest(folder), threads=1)


@dataclass
class Call:
    """One step of a search, and the sentences that remain after it."""

    tokens: NDArray[np.int32]
    ancestry: NDArray[np.bool_]
    scores: NDArray[np.float32]
    ids: NDArray[np.int32]
    keep: NDArray[np.int64] | None = None


class Recorder:
    """A step model that records the inputs and candidates of each step."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.calls: list[Call] = []

    def encode(self, source: NDArray[np.int32]) -> Any:
        return self.model.encode(source)

    def step(self, state: Any, tokens: Any, ancestry: Any) -> tuple[Candidates, Any]:
        candidates, state = self.model.step(state, tokens, ancestry)
        self.calls.append(
            Call(tokens.copy(), ancestry.copy(), candidates.scores.copy(), candidates.ids.copy())
        )
        return candidates, state

    def select(self, state: Any, rows: NDArray[np.int64]) -> Any:
        self.calls[-1].keep = rows.copy()
        return self.model.select(state, rows)


def sentences(seed: int, lengths: tuple[int, ...]) -> NDArray[np.int32]:
    source = np.full((len(lengths), -(-max(lengths) // 4) * 4), PAD_ID, np.int32)
    rng = np.random.default_rng(seed)
    for row, length in enumerate(lengths):
        source[row, : length - 1] = rng.integers(4, 290, length - 1)
        source[row, length - 1] = END_ID
    return source


def recorded(
    model: Any, beams: int, seed: int = 0, lengths: tuple[int, ...] = (16, 3, 9, 5, 16, 12)
) -> tuple[NDArray[np.int32], list[Call]]:
    """Search random sentences; return them with the recorded steps."""
    source = sentences(seed, lengths)
    recorder = Recorder(model)
    # Sentences leave the batch one after another, at their length limits.
    options = SearchOptions(
        beam_size=beams,
        length_penalty=0.0,
        max_length=40,
        length_ratio=1.0,
        length_extra=0,
    )
    beam_search(recorder, source, options)
    return source, recorder.calls


def replay(model: Any, source: NDArray[np.int32], calls: list[Call]) -> list[Candidates]:
    """Run a model on recorded steps; return its candidates."""
    state, copies = model.encode(source), []
    for call in calls:
        candidates, state = model.step(state, call.tokens, call.ancestry)
        copies.append(Candidates(candidates.scores.copy(), candidates.ids.copy()))
        if call.keep is not None:
            state = model.select(state, call.keep)
    return copies


def assert_bits(results: list[Candidates], calls: list[Call]) -> None:
    for step, (given, call) in enumerate(zip(results, calls, strict=True)):
        assert given.scores.dtype == np.float32
        assert given.ids.dtype == np.int32
        assert given.scores.tobytes() == call.scores.tobytes(), f"step {step}"
        assert given.ids.tobytes() == call.ids.tobytes(), f"step {step}"


@pytest.fixture(scope="module")
def keras_model(tiny_run: Run) -> KerasStepModel:
    return KerasStepModel(trained_model(tiny_run, tiny_run.last)[0])


@pytest.mark.parametrize("beams", [1, 3, 4, 5])
@pytest.mark.parametrize("precision", ["float32", "int8", "float16"])
def test_host_and_device_give_the_same_bits(
    tiny_bundle: Bundle, precision: str, beams: int
) -> None:
    folder = tiny_bundle(precision)
    model = on_device(folder)
    assert isinstance(model.encode(sentences(0, (4,))), DeviceState)
    source, calls = recorded(on_host(folder), beams)
    assert len(calls) >= 12
    assert sum(call.keep is not None for call in calls) >= 2
    if beams > 1:
        # Hypotheses were reordered: some column belongs to a different beam.
        in_order = np.tile(np.eye(beams, dtype=bool), len(calls))[None]
        assert any((call.ancestry != in_order[..., : call.ancestry.shape[2]]).any()
                   for call in calls)  # fmt: skip
    assert_bits(replay(model, source, calls), calls)


@pytest.mark.parametrize("beams", [1, 4])
@pytest.mark.parametrize("create", [on_host, on_device])
def test_candidates_match_keras(
    tiny_bundle: Bundle,
    keras_model: KerasStepModel,
    create: Callable[[Path], OnnxStepModel],
    beams: int,
) -> None:
    source, calls = recorded(keras_model, beams, seed=1)
    assert any(call.keep is not None for call in calls)
    results = replay(create(tiny_bundle("float32")), source, calls)
    for given, call in zip(results, calls, strict=True):
        assert given.scores == pytest.approx(call.scores, abs=5e-5)
        distinct = np.abs(np.diff(call.scores, axis=-1)) > 1e-4
        sure = np.concatenate([distinct, distinct[..., -1:]], axis=-1)
        sure[..., 1:] &= distinct if distinct.shape[-1] else True
        if beams > 1:
            sure[..., -1] = False  # the gap after the last candidate is unknown
        assert (given.ids == call.ids)[sure].all()


@pytest.mark.parametrize("create", [on_host, on_device])
def test_log_probs_match_keras_and_may_alternate_with_steps(
    tiny_bundle: Bundle,
    keras_model: KerasStepModel,
    create: Callable[[Path], OnnxStepModel],
) -> None:
    source, calls = recorded(keras_model, 3, seed=2)
    model = create(tiny_bundle("float32"))
    keras_state, state = keras_model.encode(source), model.encode(source)
    kept: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
    for step, call in enumerate(calls):
        expected, keras_state = keras_model.log_probs(keras_state, call.tokens, call.ancestry)
        if step % 3 == 1:  # a step between calls for log-probabilities
            given, state = model.step(state, call.tokens, call.ancestry)
            best = np.sort(expected, axis=-1)[..., ::-1][..., :3]
            assert given.scores == pytest.approx(best, abs=5e-5)
        else:
            log_probs, state = model.log_probs(state, call.tokens, call.ancestry)
            assert log_probs.dtype == np.float32
            assert log_probs == pytest.approx(expected, abs=5e-5)
            assert np.exp(log_probs).sum(-1) == pytest.approx(1, abs=5e-5)
            kept.append((log_probs, log_probs.copy()))
        if call.keep is not None:
            keras_state = keras_model.select(keras_state, call.keep)
            state = model.select(state, call.keep)
    # The arrays belong to the caller: later steps did not overwrite them.
    assert all((log_probs == copied).all() for log_probs, copied in kept)


@pytest.mark.parametrize("beams", [1, 2, 7])
def test_growing_the_caches_does_not_change_candidates(tiny_bundle: Bundle, beams: int) -> None:
    folder = tiny_bundle("float32")
    lengths = (40, 40, 38)  # 40 steps: the caches grow several times
    source, calls = recorded(on_device(folder), beams, seed=3, lengths=lengths)
    assert len(calls) == 40
    assert_bits(replay(on_host(folder), source, calls), calls)


@pytest.mark.parametrize("create", [on_host, on_device])
def test_selecting_more_than_once(
    tiny_bundle: Bundle, create: Callable[[Path], OnnxStepModel]
) -> None:
    folder = tiny_bundle("float32")
    source, calls = recorded(on_host(folder), 2, seed=4, lengths=(12,) * 6)
    assert all(call.keep is None for call in calls[:-1])
    model = create(folder)
    state = model.encode(source)
    rows = np.arange(6)
    for step, call in enumerate(calls):
        candidates, state = model.step(state, call.tokens[rows], call.ancestry[rows])
        assert candidates.scores.tobytes() == call.scores[rows].tobytes(), step
        keep = {4: np.array([1, 4, 5]), 7: np.array([0, 2])}.get(step)
        if keep is not None:
            state, rows = model.select(state, keep), rows[keep]


@pytest.mark.parametrize("create", [on_host, on_device])
def test_two_states_of_one_model_take_turns(
    tiny_bundle: Bundle, create: Callable[[Path], OnnxStepModel]
) -> None:
    model = create(tiny_bundle("float32"))
    first, second = (
        recorded(model, beams, seed, lengths=(12,) * count)
        for beams, seed, count in ((2, 5, 3), (4, 6, 5))
    )
    states = [model.encode(source) for source, _ in (first, second)]
    for pair in zip(first[1], second[1], strict=True):
        given = []
        for index, call in enumerate(pair):
            candidates, states[index] = model.step(states[index], call.tokens, call.ancestry)
            given.append(candidates)
        # The second state's step did not overwrite the first's candidates.
        for candidates, call in zip(given, pair, strict=True):
            assert candidates.scores.tobytes() == call.scores.tobytes()
            assert candidates.ids.tobytes() == call.ids.tobytes()


@pytest.mark.parametrize("create", [on_host, on_device])
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_states_of_one_model_in_threads(
    tiny_bundle: Bundle, create: Callable[[Path], OnnxStepModel], precision: str
) -> None:
    model = create(tiny_bundle(precision))
    work = [recorded(model, beams, seed=beams) for beams in (1, 2, 4)]
    start = Barrier(len(work))

    def replay_often(source: NDArray[np.int32], calls: list[Call]) -> list[list[Candidates]]:
        start.wait(30)
        return [replay(model, source, calls) for _ in range(4)]

    with ThreadPoolExecutor(len(work)) as pool:
        results = list(pool.map(lambda each: replay_often(*each), work))
    for (_, calls), rounds in zip(work, results, strict=True):
        for each in rounds:
            assert_bits(each, calls)


def test_there_are_at_most_as_many_candidates_as_tokens(tiny_bundle: Bundle) -> None:
    # Beams as wide as the vocabulary, and wider.
    folder = tiny_bundle("float32")
    size = read_manifest(folder).vocabulary["target"]
    for model in (on_host(folder), on_device(folder)):
        for beams in (size, size + 3):
            state = model.encode(sentences(0, (4,)))
            tokens = np.full((1, beams), 4, np.int32)
            given, _ = model.step(state, tokens, np.eye(beams, dtype=bool)[None])
            assert given.scores.shape == given.ids.shape == (1, beams, size)
            assert sorted(given.ids[0, 0].tolist()) == list(range(size))


def test_splitting_a_batch_for_the_encoder_gives_the_same_bits(
    tiny_bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = on_host(tiny_bundle("float32"))
    source = sentences(7, (16, 3, 9, 5, 16, 12, 1))
    whole = model.encode(source)
    assert isinstance(whole, HostState)
    for tokens in (1, 40):  # one sentence at a time; two at a time, then the last
        monkeypatch.setattr(step_model, "ENCODER_TOKENS", tokens)
        calls = recorded(model, 2, lengths=(16, 3, 9, 5, 16, 12, 1))[1]
        monkeypatch.setattr(step_model, "ENCODER_TOKENS", 1024)
        assert_bits(replay(model, sentences(0, (16, 3, 9, 5, 16, 12, 1)), calls), calls)
