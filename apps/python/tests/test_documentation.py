"""The examples of the documentation, and the notebooks."""

import doctest
import inspect
import json
import os
import pathlib

import pytest

import tabia

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented() -> list[tuple[str, str]]:
    """Every docstring of the package: doctest finds none in native code."""
    found = [("tabia", tabia.__doc__ or "")]
    for name in tabia.__all__:
        item = getattr(tabia, name)
        found.append((name, inspect.getdoc(item) or ""))
        if inspect.isclass(item):
            members = [member for member in vars(item) if not member.startswith("_")]
            found += [(f"{name}.{member}", inspect.getdoc(getattr(item, member)) or "") for member in members]
    return [(name, text) for name, text in found if ">>>" in text]


@pytest.mark.parametrize("name,text", documented(), ids=[name for name, _ in documented()])
def test_docstrings(name: str, text: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert outcome.attempted > 0 and outcome.failed == 0


def test_the_main_functions_have_examples() -> None:
    names = {name for name, _ in documented()}
    expected = {"open", "encode", "moves", "Set.batches", "read_pgn", "play", "rate", "Model.evaluate"}
    assert expected <= names


def test_every_function_is_documented() -> None:
    for name in tabia.__all__:
        item = getattr(tabia, name)
        if inspect.isbuiltin(item) or (inspect.isclass(item) and name != "Error"):
            assert inspect.getdoc(item), name


def test_the_guide(root: pathlib.Path) -> None:
    outcome = doctest.testfile(str(root / "docs/guides/python.md"), module_relative=False, optionflags=FLAGS)
    assert outcome.attempted > 10 and outcome.failed == 0


def cells(notebook: pathlib.Path) -> list[str]:
    source = json.loads(notebook.read_text())
    assert source["nbformat"] == 4
    code = ["".join(cell["source"]) for cell in source["cells"] if cell["cell_type"] == "code"]
    assert all(not cell.get("outputs") for cell in source["cells"]), "outputs are not kept in the repository"
    return code


def run(notebook: pathlib.Path, monkeypatch: pytest.MonkeyPatch, scratch: pathlib.Path) -> dict[str, object]:
    """Executes the cells in order, as quickly as they allow."""
    monkeypatch.setenv("TABIA_NOTEBOOK_QUICK", "1")
    monkeypatch.setenv("TABIA_NOTEBOOK_FOLDER", str(scratch))
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(cells(notebook)):
        exec(compile(cell, f"{notebook.name}, code cell {number + 1}", "exec"), names)
    return names


def test_how_human_is_my_network(root: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    names = run(root / "examples/python/how_human.ipynb", monkeypatch, tmp_path)
    agreement = names["agreement"]
    assert isinstance(agreement, dict) and 0.2 < agreement["human"] <= 1


def test_train_a_value_network(
    root: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, torch
) -> None:
    pytest.importorskip("onnx")
    names = run(root / "examples/python/train_value.ipynb", monkeypatch, tmp_path)
    losses = names["losses"]
    assert isinstance(losses, list) and losses[-1] < losses[0]
    assert os.path.exists(str(names["network"]))
    assert names["scorecard"].levels  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["how_human", "train_value"])
def test_notebooks_are_valid_code(root: pathlib.Path, name: str) -> None:
    # Also where a notebook's libraries are missing.
    for cell in cells(root / f"examples/python/{name}.ipynb"):
        compile(cell, name, "exec")
