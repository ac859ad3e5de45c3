/* mrc.c - the entry of MRC files in the table of formats: the CCP4/EMDB map format, its MRC2014 revision and IMOD's
 * additions.
 */
#include "mrc.h"
#include <string.h>

static bool mrc_match(const uint8_t *head, size_t bytes)
{
    return bytes >= AT_MAP + 4 && memcmp(head + AT_MAP, "MAP", 3) == 0;
}

const wfl_io_format wfl_io_mrc = { .format = WF_FORMAT_MRC,
                                   .name = "MRC",
                                   .suffixes = { ".mrc", ".mrcs", ".map", ".rec", ".st", ".ali", ".ccp4" },
                                   .gzip = true,
                                   .match = mrc_match,
                                   .open = wfl_mrc_open,
                                   .create = wfl_mrc_create,
                                   .finish = wfl_mrc_finish,
                                   .grow = wfl_mrc_grow };
