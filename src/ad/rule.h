/* rule.h - the derivatives of single operations: rules.def as a table. */
#ifndef WEFT_AD_RULE_H
#define WEFT_AD_RULE_H
#include "ad/ad.h"

typedef enum wf__rule_class {
    WF__RULE_NONE,
    WF__RULE_STEP,
    WF__RULE_SMOOTH,
    WF__RULE_EDGE,
    WF__RULE_CODE
} wf__rule_class;
typedef struct wf__rule {
    uint8_t class; /* wf__rule_class */
    struct {
        const char *condition; /* NULL = the operand always takes part */
        const char *term;      /* NULL = no derivative */
    } operand[3];
    const char *let; /* the name h of the terms; NULL = none */
} wf__rule;

/* Returns the rule of an operation of ops.def. */
const wf__rule *wf__rule_of(unsigned op);

/* The values that the names of a rule stand for. All but conditions have the dtype `t`. */
typedef struct wf__rule_names {
    wf__ref a, b, c; /* operands; 0 = the operation has none */
    wf__ref r;       /* result */
    wf__ref g;       /* derivative */
    unsigned t;
} wf__rule_names;

/* Returns the names for node r, without g. Operations of f16 and bf16 are computed again in f32, as the result may be
 * rounded to 0 or infinity where the derivative is not. */
wf__rule_names wf__rule_names_of(wf__ir *ir, wf__ref r);
/* Records the term of operand k (0 to 2), and sets *condition to its condition; 0 = none. Returns 0 if the operand has no
 * derivative, or if the ir has failed. */
wf__ref wf__rule_term(wf__ir *ir, const wf__rule *rule, unsigned k, const wf__rule_names *names, wf__ref *condition);
/* Returns an operand in the dtype in which derivatives are computed. */
wf__ref wf__computed(wf__ir *ir, wf__ref operand);
/* Returns g times the derivative of node r, as a part of `whole`, with respect to part `imag` of its operand k. */
wf__ref wf__whole_term(wf__ir *ir, const wf__whole *whole, wf__ref r, unsigned k, bool imag, wf__ref g);
#endif
