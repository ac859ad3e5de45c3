/* calc.h - operator text and its arguments, for the commands that take them: calc, check and dump. */
#ifndef WEFT_CLI_CALC_H
#define WEFT_CLI_CALC_H
#include "cli.h"

enum { MAX_INPUTS = 64, NAME_CAP = 128 };

/* Returns the length of the name in "name=rest"; 0 = the text has another form. */
size_t name_before_equals(const char *text);
/* Copies the name of "name=rest", of `len` bytes, to name[n]. False, with a message, if an earlier name is the same. */
bool take_name(const command *self, const char *text, size_t len, char (*name)[NAME_CAP], size_t n);
/* Takes the argument "name=rest": copies its name to name[n], and returns the rest. NULL, with a message: it has another
 * form than `forms`, a list for the user, is given twice or is one too many. `of` is the text it was given beside. */
const char *take_argument(const command *self, const char *text, const char *forms, const char *of,
                          char (*name)[NAME_CAP], size_t n);
/* Sets *out to the argument `name` of a text that is a number; integers of 64 bits keep all digits. */
number_kind number_argument(const char *name, const char *text, wf_arg *out);
/* Returns an argument that gives a text its shape and that the text cannot name: one element, broadcast. The array is
 * NULL without memory. */
wf_arg shape_argument(wf_context *ctx, wf_shape shape);
/* True for an array of floats or complex numbers. */
bool has_derivative(const wf_arg *arg);
/* True if the last statement of the text assigns a name, so that another one may follow. */
bool ends_with_name(wf_context *ctx, const char *text);
#endif
