/* tiff.c - the row of TIFF and BigTIFF in the table of formats. tiff_read.c and tiff_write.c know what a file holds;
 * tiff_library.c joins libtiff to our reader and writer.
 */
#include "tiff.h"
#include "eer.h"
#include <string.h>

static bool tiff_match(const uint8_t *head, size_t bytes)
{
    static const char *const marks[4] = { "II\x2a\0", "MM\0\x2a", "II\x2b\0", "MM\0\x2b" };
    for (int i = 0; i < 4; i++)
        if (bytes >= 8 && memcmp(head, marks[i], 4) == 0)
            return true;
    return false;
}

/* Opens a TIFF file. If its first page is a frame of an EER movie, the format becomes EER, whatever suffix it has. */
static wf_status tiff_open(wfl_io_input *in)
{
    if (!wfl_eer_is(&in->reader))
        return wfl_tiff_open_file(in);
    in->format = &wfl_io_eer;
    return wfl_io_eer.open(in);
}

const wfl_io_format wfl_io_tiff = { .format = WF_FORMAT_TIFF,
                                    .name = "TIFF",
                                    .suffixes = { ".tif", ".tiff" },
                                    .match = tiff_match,
                                    .open = tiff_open,
                                    .read = wfl_tiff_read_box,
                                    .close = wfl_tiff_close_file,
                                    .create = wfl_tiff_create,
                                    .write = wfl_tiff_write,
                                    .finish = wfl_tiff_finish };
