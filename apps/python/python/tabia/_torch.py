"""Training batches as a dataset of PyTorch."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional

import torch
from torch.utils.data import IterableDataset, get_worker_info

from . import Batch, Batches, Set


def tensors(batch: Batch) -> Dict[str, Any]:
    """The inputs and columns of a batch as tensors that share its memory."""
    inputs = batch.inputs
    if isinstance(inputs, dict):
        shown: Any = {name: torch.from_numpy(array) for name, array in inputs.items()}
    else:
        shown = torch.from_numpy(inputs)
    columns = {name: torch.from_numpy(array) for name, array in batch.columns().items()}
    return {"inputs": shown, **columns}


class Positions(IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]
    """Batches of a set. Every epoch has another order; `state_dict` resumes in the middle of one."""

    def __init__(self, source: Set, encoding: str, options: Dict[str, Any]) -> None:
        super().__init__()
        self._source = source
        self._encoding = encoding
        self._options = dict(options)
        self._position: Optional[str] = self._options.pop("position", None)
        self._epoch = 0
        self._batches: Optional[Batches] = None

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        if get_worker_info() is not None:
            raise RuntimeError(
                "tabia makes batches with threads of its own, without the copies of worker processes: "
                "use DataLoader(dataset, batch_size=None, num_workers=0)"
            )
        options = dict(self._options)
        options["shuffle"] = options.get("shuffle", 0) + self._epoch
        batches = self._source.batches(self._encoding, position=self._position, **options)
        self._position = None
        self._batches = batches
        for batch in batches:
            yield tensors(batch)
        self._batches = None
        self._epoch += 1

    def state_dict(self) -> Dict[str, Any]:
        """The place after the batches taken so far."""
        position = self._batches.position if self._batches is not None else self._position
        return {"epoch": self._epoch, "position": position}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Goes on where `state_dict` was called."""
        self._epoch = state["epoch"]
        self._position = state["position"]
        self._batches = None
