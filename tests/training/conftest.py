"""Most training tests run eagerly, because tracing dominates the time of a short run."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _eager(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run without graphs, except in fixtures and in tests marked as ``traced``."""
    if request.path.stem != "test_training" or request.node.get_closest_marker("traced"):
        yield
        return
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
