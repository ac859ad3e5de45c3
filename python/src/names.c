/* names.c - members of enums by their names, and str objects as texts of C. */
#include <string.h>

#include "weft_python.h"

const wfpy_name wfpy_borders[] = { { "none", WF_BORDER_NONE },
                                   { "value", WF_BORDER_VALUE },
                                   { "clamp", WF_BORDER_CLAMP },
                                   { "periodic", WF_BORDER_PERIODIC },
                                   { "mirror", WF_BORDER_MIRROR },
                                   { "reflect", WF_BORDER_REFLECT },
                                   { NULL, 0 } };
const wfpy_name wfpy_joins[] = { { "custom", WF_JOIN_CUSTOM },
                                 { "add", WF_JOIN_ADD },
                                 { "mul", WF_JOIN_MUL },
                                 { "min", WF_JOIN_MIN },
                                 { "max", WF_JOIN_MAX },
                                 { "and", WF_JOIN_AND },
                                 { "or", WF_JOIN_OR },
                                 { "xor", WF_JOIN_XOR },
                                 { "exch", WF_JOIN_EXCH },
                                 { "inc", WF_JOIN_INC },
                                 { NULL, 0 } };

const char *wfpy_utf8(PyObject *text)
{
    Py_ssize_t n = 0;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &n);
    if (!utf8 || strlen(utf8) == (size_t)n)
        return utf8;
    PyErr_SetString(PyExc_ValueError, "embedded null character");
    return NULL;
}

bool wfpy_find_name(const char *function, PyObject *object, const wfpy_name *names, int *value)
{
    const char *text = PyUnicode_Check(object) ? wfpy_utf8(object) : NULL;
    for (const wfpy_name *n = names; text && n->name; ++n)
        if (strcmp(text, n->name) == 0) {
            *value = n->value;
            return true;
        }
    PyErr_Clear();
    char list[512] = "";
    for (const wfpy_name *n = names; n->name; ++n)
        if (strlen(list) + strlen(n->name) + 5 < sizeof list) {
            strcat(list, n == names ? "'" : ", '");
            strcat(list, n->name);
            strcat(list, "'");
        }
    static const char *const elsewhere[][2] = {
        /* border modes of SciPy and NumPy */
        { "nearest", "clamp" },      { "edge", "clamp" },       { "wrap", "periodic" },
        { "grid-wrap", "periodic" }, { "symmetric", "mirror" }, { "constant", "value" },
    };
    for (size_t i = 0; text && i < sizeof elsewhere / sizeof *elsewhere; ++i)
        for (const wfpy_name *n = names; strcmp(text, elsewhere[i][0]) == 0 && n->name; ++n)
            if (strcmp(n->name, elsewhere[i][1]) == 0) {
                PyErr_Format(
                    PyExc_ValueError,
                    "%s(): %R is none of %s; it is '%s' here, and SciPy's 'mirror' and 'reflect' are 'reflect' and "
                    "'mirror'",
                    function, object, list, n->name);
                return false;
            }
    PyErr_Format(PyUnicode_Check(object) ? PyExc_ValueError : PyExc_TypeError, "%s(): %R is none of %s", function,
                 object, list);
    return false;
}
