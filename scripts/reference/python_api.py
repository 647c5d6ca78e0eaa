# SPDX-License-Identifier: Apache-2.0
"""The page of the Python interface: signatures and docstrings, read from the sources without importing them."""

import ast
import re
from pathlib import Path

from scripts.reference.markdown import docstring, page

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "eyrie": "Run networks from Python.",
    "eyrie.tasks": "Answer pictures and sounds.",
    "eyrie.operators": "Run single operators.",
    "eyrie.pytorch": "Run models of PyTorch. It needs PyTorch.",
    "eyrie.tvm": "Run Relax modules of TVM. It needs the extra `tvm`.",
}
Definition = ast.ClassDef | ast.FunctionDef


def text() -> str:
    """Write the public names of the packages."""
    return page(
        "Python interface",
        "These are the public names of the package: every other module may change without notice. [The Python "
        "library](../howto/library.md) and [the operator library](../howto/operators.md) show how to use them.",
        "the docstrings of `eyrie`, `eyrie.tasks`, `eyrie.operators`, `eyrie.pytorch` and `eyrie.tvm`",
        *(_package(name, about) for name, about in PACKAGES.items()),
    )


def _package(name: str, about: str) -> str:
    path = _file(name)
    tree = ast.parse(path.read_text())
    sources = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    sections = [f"## {name}", about]
    for public in _public(tree):
        if public in sources:
            module, original = sources[public]
            sections.append(_entry(name, public, _find(module, original)))
    return "\n\n".join(sections)


def _public(tree: ast.Module) -> list[str]:
    """Return the names of `__all__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def _file(module: str) -> Path:
    path = ROOT / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _find(module: str, name: str) -> Definition | ast.expr | None:
    for node in ast.parse(_file(module).read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return node
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return node.value
    return None


def _entry(package: str, name: str, node: Definition | ast.expr | None) -> str:
    head = f"### {package}.{name}"
    if isinstance(node, ast.ClassDef):
        return "\n\n".join([head, *_class(name, node)])
    if isinstance(node, ast.FunctionDef):
        return "\n\n".join([head, *_function(name, node)])
    return "\n\n".join([head, f"```python\n{name} = {ast.unparse(node)}\n```" if node else "A constant."])


def _function(name: str, node: ast.FunctionDef, prefix: str = "") -> list[str]:
    """Return signature and docstring; prefix: of a method, its class."""
    arguments = f"({ast.unparse(node.args)})"
    if prefix:
        arguments = re.sub(r"^\((self|cls)(, )?", "(", arguments)
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        arguments = ""
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    about = ast.get_docstring(node)
    signature = f"```python\n{prefix}{name}{arguments}{result}\n```"
    return [signature, docstring(about)] if about else [signature]


def _class(name: str, node: ast.ClassDef) -> list[str]:
    fields = [ast.unparse(item) for item in node.body if isinstance(item, (ast.AnnAssign, ast.Assign))]
    bases = f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else ""
    parts = ["```python\n" + "\n    ".join([f"class {name}{bases}:", *(fields or ["..."])]) + "\n```"]
    about = ast.get_docstring(node)
    parts += [docstring(about)] if about else []
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and (not item.name.startswith("_") or item.name == "__call__"):
            parts += _function(item.name, item, f"{name}.")
    return parts
