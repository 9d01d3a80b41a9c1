"""Tests of the installed package. They run in the root of the repository, where the documentation's paths lead."""

import os
import pathlib
import sys
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def root() -> pathlib.Path:
    return ROOT


@pytest.fixture
def torch(request: pytest.FixtureRequest) -> Any:
    """PyTorch, if there is one: it is never installed for the tests, since it is gigabytes large."""
    folder = os.environ.get("TABIA_TORCH")
    if folder and folder not in sys.path:
        sys.path.append(folder)
    try:
        import torch
    except ImportError:
        log = os.environ.get("TABIA_SKIP_LOG")
        if log:
            with open(log, "a") as lines:
                lines.write(f"machine\tPyTorch (TABIA_TORCH)\tpython {request.node.name}\n")
        pytest.skip("needs PyTorch: TABIA_TORCH names its site-packages")
    return torch
