"""Which arguments classes take, read from their source: nothing is imported."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HOST_BASE = "lmms_eval.api.model.lmms"  # takes no arguments of its own


@dataclass(frozen=True, slots=True)
class Signature:
    """What a constructor takes.

    Attributes:
        names: Its arguments, and those of the base classes that it hands unknown ones on to.
        more: Whether it takes any other name as well, whatever becomes of it.
    """

    names: frozenset[str]
    more: bool


def of_class(path: str) -> Signature | None:
    """Return the signature of a class, e.g. "package.module.Class"; None where it is not found."""
    module, _, name = path.rpartition(".")
    tree = _tree(_file(module))
    found = _class(tree, name)
    if tree is None or found is None:
        return None
    init = next(
        (n for n in found.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None
    )
    names = _arguments(init) if init else set()
    if init and init.args.kwarg is None:
        return Signature(frozenset(names), more=False)
    for base in found.bases:
        path_of_base = _imported(tree, module, ast.unparse(base))
        inherited = of_class(path_of_base) if path_of_base != _HOST_BASE else None
        names |= inherited.names if inherited else set()
        if init is None and inherited:
            return inherited
    return Signature(frozenset(names), more=init is not None)


def of_vllm() -> set[str]:
    """Return the arguments of `vllm.LLM`; empty where vLLM is not installed, or looks different."""
    spec = importlib.util.find_spec("vllm")
    folders = list(spec.submodule_search_locations or []) if spec else []
    if not folders:
        return set()
    engine = _class(_tree(Path(folders[0]) / "engine" / "arg_utils.py"), "EngineArgs")
    caller = _class(_tree(Path(folders[0]) / "entrypoints" / "llm.py"), "LLM")
    if engine is None or caller is None:
        return set()
    fields = (node.target for node in engine.body if isinstance(node, ast.AnnAssign))
    names = {field.id for field in fields if isinstance(field, ast.Name)}
    for node in caller.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            names |= _arguments(node)
    return names


def _file(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # the packages around it are imported, which may raise anything
        return None
    return Path(spec.origin) if spec and spec.origin else None


def _tree(file: Path | None) -> ast.Module | None:
    try:
        return ast.parse(file.read_text(encoding="utf-8")) if file else None
    except (OSError, ValueError, SyntaxError):
        return None


def _class(tree: ast.Module | None, name: str) -> ast.ClassDef | None:
    nodes: Iterator[ast.AST] = ast.walk(tree) if tree else iter(())
    return next((n for n in nodes if isinstance(n, ast.ClassDef) and n.name == name), None)


def _arguments(init: ast.FunctionDef) -> set[str]:
    taken = [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs]
    return {argument.arg for argument in taken} - {"self"}


def _imported(tree: ast.Module, module: str, name: str) -> str:
    """Return the full path of a class that a module uses by a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return f"{node.module}.{alias.name}"
    return f"{module}.{name}"
