"""Collect the Funcs of a pipeline in topological order; inline Funcs without a compute level."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import FrontendError
from polysched.frontends.halide.language import Call, Definition, Func, ImageParam, calls
from polysched.ir.declare.declarations import bounded
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.traversal import transform


@dataclass(frozen=True)
class Computed:
    """A Func that is computed in a loop nest of its own.

    Attributes:
        func: the Func.
        definitions: the pure definition and the updates, with inline Funcs substituted.
    """

    func: Func
    definitions: tuple[Definition, ...]

    @property
    def name(self) -> str:
        """The Func's name."""
        return self.func.name

    def statement(self, number: int) -> str:
        """The name of the statement of a definition; number 0 is the pure definition."""
        if number:
            return f"{self.name}_update" if number == 1 else f"{self.name}_update_{number - 1}"
        return self.name if len(self.definitions) == 1 else f"{self.name}_init"


@dataclass(frozen=True)
class Algorithm:
    """The Funcs of a pipeline, producers first, and the images that they read."""

    funcs: tuple[Computed, ...]
    images: tuple[ImageParam, ...]


def algorithm(output: Func) -> Algorithm:
    """Collect the Funcs and images that an output needs.

    Raises:
        FrontendError: a Func is not defined, two Funcs or images have the same name, or a Func
            that is computed inline has directives.
    """
    funcs: dict[str, Func] = {}
    images: dict[str, ImageParam] = {}
    _collect(output, funcs, images)
    computed = []
    for func in funcs.values():
        if func is not output and is_inline(func):
            if func.directives:
                raise FrontendError(
                    f"Func '{func.name}' has directives and is computed inline, where it has no "
                    "loops; expected compute_root() or compute_at(...) too"
                )
            continue
        definitions = tuple(
            replace(
                definition,
                value=_inlined(definition.value),
                subscripts=tuple(_inlined(subscript) for subscript in definition.subscripts),
            )
            for definition in func.definitions
        )
        computed.append(Computed(func, definitions))
    if output.level is not None and output.level.consumer is not None:
        raise FrontendError(f"Func '{output.name}' is the output, so it cannot have compute_at")
    return Algorithm(tuple(computed), tuple(images.values()))


def is_inline(func: Func) -> bool:
    """Whether a Func is inlined into its consumers."""
    return func.level is None and len(func.definitions) == 1


def _collect(func: Func, funcs: dict[str, Func], images: dict[str, ImageParam]) -> None:
    """Add a Func and its producers to ``funcs`` in topological order, producers first."""
    if not func.definitions:
        raise FrontendError(f"Func '{func.name}' has no definition")
    for definition in func.definitions:
        for expression in (definition.value, *definition.subscripts):
            for call in calls(expression):
                source = call.source
                if isinstance(source, ImageParam):
                    if images.setdefault(source.name, source) is not source:
                        raise FrontendError(f"two images have the name '{source.name}'")
                elif source is not None and source is not func:
                    known = funcs.get(source.name)
                    if known is not None and known is not source:
                        raise FrontendError(f"two Funcs have the name '{source.name}'")
                    if known is None:
                        _collect(source, funcs, images)
    funcs[func.name] = func


def _inlined(expression: Expression) -> Expression:
    """Substitute the definitions of inline Funcs into an expression."""

    def rule(node: Expression) -> Expression | None:
        if not isinstance(node, Call) or not isinstance(node.source, Func):
            return None
        if not is_inline(node.source):
            return None
        variables = dict(zip(node.source.variables, node.subscripts, strict=True))
        value = _inlined(node.source.definitions[0].value)
        return bounded(
            transform(
                value, lambda leaf: variables.get(leaf.name) if isinstance(leaf, Index) else None
            )
        )

    return transform(expression, rule)
