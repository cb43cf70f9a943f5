"""Which Funcs a pipeline computes, in which order, and what becomes of those computed inline."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import FrontendError
from polysched.frontends.halide.language import Call, Definition, Func, ImageParam, calls
from polysched.ir.declarations import bounded
from polysched.ir.expressions import Expression, Index
from polysched.ir.traversal import transform


@dataclass(frozen=True)
class Computed:
    """A Func that has a nest of its own.

    Attributes:
        func: it.
        definitions: the pure one and the updates, in which nothing inline is left.
    """

    func: Func
    definitions: tuple[Definition, ...]

    @property
    def name(self) -> str:
        """The Func's name."""
        return self.func.name

    def statement(self, number: int) -> str:
        """The statement of a definition: 0 is the pure one."""
        if number:
            return f"{self.name}_update" if number == 1 else f"{self.name}_update_{number - 1}"
        return self.name if len(self.definitions) == 1 else f"{self.name}_init"


@dataclass(frozen=True)
class Algorithm:
    """What a pipeline computes: Funcs, producers first, and the images that they read."""

    funcs: tuple[Computed, ...]
    images: tuple[ImageParam, ...]


def algorithm(output: Func) -> Algorithm:
    """The Funcs and images that an output needs.

    Raises:
        FrontendError: a Func is not defined, two have one name, or a directive is for one that is
            computed inline.
    """
    found: dict[str, Func] = {}
    images: dict[str, ImageParam] = {}
    _collect(output, found, images)
    computed = []
    for func in found.values():
        if func is not output and is_inline(func):
            if func.directives:
                raise FrontendError(
                    f"Func '{func.name}' has directives and is computed inline, where it has no "
                    "loops; expected compute_root() or compute_at(...) too"
                )
            continue
        definitions = tuple(
            replace(
                one,
                value=_inlined(one.value),
                subscripts=tuple(_inlined(place) for place in one.subscripts),
            )
            for one in func.definitions
        )
        computed.append(Computed(func, definitions))
    if output.level is not None and output.level.consumer is not None:
        raise FrontendError(f"Func '{output.name}' is the output; expected no compute_at for it")
    return Algorithm(tuple(computed), tuple(images.values()))


def is_inline(func: Func) -> bool:
    """Whether a Func is computed wherever it is read."""
    return func.level is None and len(func.definitions) == 1


def _collect(func: Func, found: dict[str, Func], images: dict[str, ImageParam]) -> None:
    """Producers before their consumers."""
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
                    known = found.get(source.name)
                    if known is not None and known is not source:
                        raise FrontendError(f"two Funcs have the name '{source.name}'")
                    if known is None:
                        _collect(source, found, images)
    found[func.name] = func


def _inlined(expression: Expression) -> Expression:
    """The expression with the values of inline Funcs written out."""

    def rule(node: Expression) -> Expression | None:
        if not isinstance(node, Call) or not isinstance(node.source, Func):
            return None
        if not is_inline(node.source):
            return None
        variables = dict(zip(node.source.variables, node.subscripts, strict=True))
        value = _inlined(node.source.definitions[0].value)
        return bounded(
            transform(
                value, lambda one: variables.get(one.name) if isinstance(one, Index) else None
            )
        )

    return transform(expression, rule)
