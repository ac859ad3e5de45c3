/* json.h - texts in JSON (RFC 8259), as far as metadata of files need it. A value is the place where it begins in a
 * text that wfl_json_check has accepted. */
#ifndef WEFT_IO_JSON_H
#define WEFT_IO_JSON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns NULL if the text, which ends with 0, is one value in JSON; else the place where it is not. */
const char *wfl_json_check(const char *text);
/* The value of a member of an object, of several the first; NULL: `value` is NULL or no object, or lacks the member. */
const char *wfl_json_member(const char *value, const char *name);
/* The first element of an array, and the one after an element; NULL: there is none, or `value` is NULL or no array. */
const char *wfl_json_first(const char *value);
const char *wfl_json_next(const char *element);
/* Each is false, and leaves *out as it was, if `value` is NULL or no such value. */
bool wfl_json_text(const char *value, char *out, size_t cap); /* with its 0, at most `cap` bytes */
bool wfl_json_integer(const char *value, int64_t *out);       /* from 0 to 2^62 */
bool wfl_json_is_null(const char *value);
#endif
