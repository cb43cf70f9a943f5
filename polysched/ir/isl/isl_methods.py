"""Table of the islpy methods that :mod:`polysched.ir.isl.isl_calls` replaces: those polysched uses.

Only isl's header files tell which arguments a function takes and which it keeps, and islpy does not
ship them. The tests compare each method with islpy's own and count references, so they detect a
wrong entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TAKING: Mapping[str, str] = MappingProxyType(
    {
        "Aff": """add add_constant_val ceil eq_basic_set eval floor le_basic_set lt_basic_set
            mod_val mul neg scale_down_val scale_val set_coefficient_val set_constant_val sub
            val_on_domain var_on_domain zero_on_domain""",
        "AstBuild": "from_context set_iterators",
        "BasicMap": "domain range reverse wrap",
        "BasicSet": "add_constraint intersect params project_out remove_redundancies sample",
        "Constraint": "set_coefficient_val set_constant_val",
        "IdList": "add",
        "LocalSpace": "from_space",
        "Map": """add_constraint add_dims apply_domain apply_range coalesce complement compute_divs
            deltas dim_max dim_min domain eliminate empty equate fix_val flat_range_product from_aff
            from_domain from_domain_and_range from_pw_aff from_pw_multi_aff gist gist_params
            identity insert_dims intersect intersect_domain intersect_params intersect_range
            lex_gt_map lex_le_map lex_lt_map lexmax lexmin lexmin_pw_multi_aff lower_bound_val
            move_dims neg params project_out range reset_tuple_id reverse sample set_dim_id
            set_dim_name set_tuple_id set_tuple_name subtract subtract_range sum union universe
            upper_bound_val wrap""",
        "MultiAff": "flat_range_product from_aff identity set_aff zero",
        "MultiPwAff": "from_multi_aff from_pw_multi_aff",
        "MultiUnionPwAff": "flat_range_product from_union_pw_aff",
        "PwAff": """add add_constant_val add_dims ceil coalesce domain eq_map eq_set eval floor
            from_aff gist gist_params gt_map insert_dims intersect_domain intersect_params le_set
            lt_map lt_set max max_val min mod_val move_dims mul ne_set neg pullback_multi_aff
            pullback_pw_multi_aff reset_tuple_id scale_down_val scale_val set_dim_id set_tuple_id
            sub union_add union_max union_min var_on_domain zero_set""",
        "PwMultiAff": """coalesce domain flat_range_product from_map from_multi_aff from_pw_aff gist
            intersect_domain intersect_params pullback_multi_aff pullback_pw_multi_aff set_dim_id
            set_tuple_id""",
        "Schedule": "from_domain insert_partial_schedule sequence",
        "ScheduleNode": "band_set_ast_build_options child insert_mark parent",
        "Set": """add_constraint add_dims apply coalesce complement compute_divs convex_hull dim_max
            dim_max_val dim_min dim_min_val drop_constraints_involving_dims eliminate empty equate
            fix_val flatten from_basic_set from_params from_point from_pw_aff gist gist_params
            insert_dims intersect intersect_params lex_lt_set lexmax lexmin lower_bound_val
            move_dims neg params preimage_pw_multi_aff project_out reset_tuple_id sample
            sample_point set_dim_id set_dim_name set_tuple_id set_tuple_name subtract sum union
            universe upper_bound_val""",
        "Space": """add_dims domain drop_dims from_domain from_range insert_dims
            map_from_domain_and_range map_from_set params range reset_tuple_id reverse set_dim_id
            set_dim_name set_tuple_id set_tuple_name""",
        "UnionMap": "from_map union",
        "UnionPwAff": "from_pw_aff union_add",
        "UnionSet": "from_set union",
        "Val": "abs add mul neg sub",
    }
)
"""By class: methods whose isl function takes all its object arguments and returns a new object."""

TEXTS = (("Val", "to_str"), ("Printer", "get_str"))
"""Classes and their methods that return a string."""
