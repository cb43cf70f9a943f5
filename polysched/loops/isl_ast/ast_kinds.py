"""The kinds of nodes and expressions in isl's AST.

islpy's type stubs declare that the getters return integers, and omit the members whose names are
keywords (``for_``, ``if_``, ``and_``, ``or_``). At run time they return members of enumerations.
Only this file depends on that.
"""

from __future__ import annotations

import islpy as isl

FOR = isl.ast_node_type["for_"]
IF = isl.ast_node_type["if_"]
BLOCK = isl.ast_node_type.block
MARK = isl.ast_node_type.mark

AND = isl.ast_expr_op_type["and_"]
OR = isl.ast_expr_op_type["or_"]


def node_kind(node: isl.AstNode) -> isl.ast_node_type:
    """The kind of an AST node."""
    return isl.ast_node_type(node.get_type())


def expression_kind(expression: isl.AstExpr) -> isl.ast_expr_type:
    """Whether an AST expression is an identifier, an integer or an operation."""
    return isl.ast_expr_type(expression.get_type())


def operator_kind(expression: isl.AstExpr) -> isl.ast_expr_op_type:
    """The operator of an operation."""
    return isl.ast_expr_op_type(expression.get_op_type())


def is_mark(node: isl.ScheduleNode) -> bool:
    """Whether a node of a schedule tree is a mark."""
    return isl.schedule_node_type(node.get_type()) == isl.schedule_node_type.mark
