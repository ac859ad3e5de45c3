/* operands.h - the table of operations, and the operands of one: Python's objects as values of a recording, with the dtypes
 * in which they meet. */
#ifndef WEFT_PYTHON_OPERANDS_H
#define WEFT_PYTHON_OPERANDS_H
#include "weft_python.h"

typedef enum wfpy_operands { NUM, INT, FLT, BITS, ANY, FIRST_BOOL, CPLX } wfpy_operands;
typedef struct wfpy_row {
    const char *name;
    int arity;
    wfpy_operands operands;
    void (*record)(void); /* wf_val (*)(wf_val, ...) */
} wfpy_row;
extern const wfpy_row wfpy_rows[];
enum {
#define F(name, n, operands, result, complex) OP_##name,
    WF_OPERATIONS(F)
#undef F
        OPS,
    OP_floor_divide = OPS, /* Python's //, % and **, which depend on the operands' kinds */
    OP_remainder,
    OP_power,
    ALL_OPS
};
enum { MAX_OPERANDS = 3 };

typedef struct operand {
    wf_val val;    /* of a Python int beyond 2^53 a constant, i64 or u64 */
    wf_kind weak;  /* the kind of a Python number or of a weak value; else WF_KIND_NONE */
    bool negative; /* a Python int is */
    bool recorded; /* a weak value */
} operand;

/* Converts an operand for the recording `g`; NULL: for numbers alone. */
bool wfpy_convert(PyObject *object, wf_graph *g, operand *o);
/* A constant of an array's dtype and shape, with which an operation is tried. */
wf_val wfpy_stand_in(PyObject *array, wf_graph *g);
/* Records an operation, with operands that are promoted, and returns its value. */
wf_val wfpy_record(int op, operand *o, int n);
/* The order of kinds: none, bool, integers, floats, complex numbers. */
int wfpy_level(wf_kind kind);
#endif
