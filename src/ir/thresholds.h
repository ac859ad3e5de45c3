/* thresholds.h - the constants of thresholds.def, WF__<name>. */
#ifndef WEFT_IR_THRESHOLDS_H
#define WEFT_IR_THRESHOLDS_H

enum {
#define WF_THRESHOLD(name, value, unit, decision, shown_by) WF__##name = (value),
#include "ir/thresholds.def"
#undef WF_THRESHOLD
};
#endif
