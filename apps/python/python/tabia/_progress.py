"""Progress bars, in a notebook or a terminal, without dependencies."""

from __future__ import annotations

import html
import sys
import time
from typing import Any, Callable, Optional, Union

Show = Callable[[int, int, str], None]

# Seconds between two updates.
_PAUSE = 0.2
_WIDTH = 30


def meter(chosen: Union[bool, Show, None], unit: str) -> Optional[Show]:
    """A function of the done, the total and a note; None where nothing is to be shown.

    By default a bar is shown in a notebook or a terminal, and nothing elsewhere.
    """
    if chosen is False:
        return None
    if chosen is not None and chosen is not True:
        return chosen
    display = _notebook()
    if display is not None:
        return _Notebook(unit, display)
    if chosen or sys.stderr.isatty():
        return _Terminal(unit)
    return None


def _notebook() -> Optional[Callable[..., Any]]:
    """IPython's display, in a kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

    return display  # type: ignore[no-any-return, unused-ignore]


class _Bar:
    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._began = time.monotonic()
        self._shown = 0.0
        self._last = (0, 0, "")

    def __call__(self, done: int, total: int, note: str) -> None:
        self._last = (done, total, note)
        now = time.monotonic()
        if now - self._shown >= _PAUSE:
            self._shown = now
            self._show(*self._last)

    def close(self) -> None:
        if self._shown:
            self._show(*self._last)

    def _words(self, done: int, total: int, note: str) -> str:
        words = f"{done:,} of {total:,} {self._unit}"
        spent = time.monotonic() - self._began
        if 0 < done < total:
            words += f", {spent * (total - done) / done:.0f} s left"
        return f"{words}  {note}" if note else words

    def _show(self, done: int, total: int, note: str) -> None:
        raise NotImplementedError


class _Terminal(_Bar):
    def _show(self, done: int, total: int, note: str) -> None:
        filled = _WIDTH * done // max(total, 1)
        bar = "#" * filled + "." * (_WIDTH - filled)
        print(f"\r{bar} {self._words(done, total, note)}\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        super().close()
        if self._shown:
            print(file=sys.stderr)


class _Notebook(_Bar):
    def __init__(self, unit: str, display: Callable[..., Any]) -> None:
        super().__init__(unit)
        self._display = display
        self._handle: Any = None

    def _show(self, done: int, total: int, note: str) -> None:
        words = html.escape(self._words(done, total, note))
        shown = {
            "text/html": f'<progress value="{done}" max="{max(total, 1)}"></progress> {words}',
            "text/plain": self._words(done, total, note),
        }
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)
