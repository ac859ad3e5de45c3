"""Names of operations, in the package and in the expressions of weft.evaluate."""

# The names of operations that do not have their own name, or have another one as well: NumPy's names, and an underscore
# after words of Python and names of functions of arrays.
ALIASES = {
    "abs": ("abs", "absolute"),
    "acos": ("acos", "arccos"),
    "acosh": ("acosh", "arccosh"),
    "and": ("and_",),
    "asin": ("asin", "arcsin"),
    "asinh": ("asinh", "arcsinh"),
    "atan": ("atan", "arctan"),
    "atan2": ("atan2", "arctan2"),
    "atanh": ("atanh", "arctanh"),
    "conj": ("conj", "conjugate"),
    "floor_mod": ("floor_mod", "mod", "remainder"),
    "max": ("maximum",),
    "min": ("minimum",),
    "mod": ("fmod",),
    "neg": ("negative",),
    "not": ("logical_not",),
    "or": ("or_",),
    "pow": ("pow_",),
    "round": ("round_", "rint"),
    "select": ("where",),
}
