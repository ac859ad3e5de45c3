/* calc.h - what the commands that take operator text share: calc and dump. */
#ifndef WEFT_CLI_CALC_H
#define WEFT_CLI_CALC_H
#include "cli.h"

/* Reads the text of a file, which the caller frees by free(*owned), also after an error. Returns an exit code. */
int read_text(const char *path, char **owned, const char **text);
/* Makes an argument of a text that is a number; integers of 64 bits keep all digits. */
number_kind number_argument(const char *name, const char *text, wf_arg *out);
/* Returns an argument that gives a text its shape and that the text cannot name: one element, broadcast. The array is
 * NULL without memory. */
wf_arg shape_argument(wf_context *ctx, wf_shape shape);
#endif
