"""Device and thread selection, and errors about missing devices."""

import os

import pytest

from nmt_cli.errors import NmtError
from nmt_cli.recipe.model import TransformerConfig
from nmt_cli.runtime import step_model
from nmt_cli.runtime.load import Threads, share_threads, threads_for
from nmt_cli.runtime.step_model import CPU, CUDA, find_provider


@pytest.fixture
def available(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names = [CPU]
    monkeypatch.setattr(step_model.onnxruntime, "get_available_providers", lambda: names)
    return names


def test_the_cpu_is_the_default_and_the_fallback_of_auto(available: list[str]) -> None:
    assert find_provider() == find_provider("auto") == CPU


def test_missing_cuda_names_the_package_to_install(available: list[str]) -> None:
    with pytest.raises(NmtError, match="does not support CUDA; .*pip install onnxruntime-gpu"):
        find_provider("cuda")


def test_cuda_where_available(available: list[str]) -> None:
    available.insert(0, CUDA)
    assert find_provider("cuda") == find_provider("auto") == find_provider(provider="cuda") == CUDA
    assert find_provider("cpu") == CPU


@pytest.mark.parametrize("name", ["OpenVINO", "openvino", "OpenVINOExecutionProvider"])
def test_a_provider_by_short_or_long_name(available: list[str], name: str) -> None:
    available.append("OpenVINOExecutionProvider")
    assert find_provider(provider=name) == "OpenVINOExecutionProvider"


def test_an_unknown_provider_lists_the_available_ones(available: list[str]) -> None:
    with pytest.raises(NmtError, match="`provider=Abacus`: .* does not offer it; it offers CPU;"):
        find_provider(provider="Abacus")


@pytest.mark.parametrize(
    ("total", "workers", "single", "shared"),
    [
        (4, None, False, Threads(4, 1)),
        (4, None, True, Threads(1, 4)),
        (4, 2, False, Threads(2, 2)),
        (4, 2, True, Threads(2, 2)),
        (3, 2, False, Threads(2, 1)),
        (1, 8, False, Threads(8, 1)),
    ],
)
def test_threads_are_divided_among_workers(
    total: int, workers: int | None, single: bool, shared: Threads
) -> None:
    assert share_threads(total, workers, single) == shared


def test_all_cores_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5})
    assert share_threads(None, None, False) == Threads(3, 1)
    assert share_threads(None, 2, False) == Threads(2, 1)
    assert share_threads(None, 1, True) == Threads(1, 3)


@pytest.mark.parametrize(
    ("width", "precision", "threads"),
    [(512, "int8", 3), (256, "float32", 3), (256, "int8", 1), (128, "float32", 1)],
)
def test_a_single_batch_of_a_small_model_gets_one_thread(
    width: int, precision: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5})
    config = TransformerConfig(d_model=width, feed_forward=4 * width)
    assert threads_for(config, precision) == threads
    assert share_threads(None, None, True, threads) == Threads(1, threads)
    assert share_threads(None, None, False, threads) == Threads(3, 1)
