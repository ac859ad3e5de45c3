/* test_io_mrc_util.h - headers of MRC files made by hand. */
#ifndef WEFT_TEST_IO_MRC_UTIL_H
#define WEFT_TEST_IO_MRC_UTIL_H
#include "test_io_util.h"

enum { NX = 0, NY = 4, NZ = 8, MODE = 12, NSTART = 16, M = 28, CELL = 40, MAPC = 64, DMIN = 76, DMAX = 80, DMEAN = 84 };
enum { CELLB = 52, NLABL = 220, LABEL = 224 };
enum { ISPG = 88, NSYMBT = 92, NVERSION = 108, STAMP = 152, FLAGS = 156, ORIGIN = 196, MACHST = 212, RMS = 216 };

static inline int32_t get_i(const uint8_t *head, size_t at)
{
    int32_t value;
    memcpy(&value, head + at, 4);
    return value;
}

static inline double get_f(const uint8_t *head, size_t at)
{
    float value;
    memcpy(&value, head + at, 4);
    return (double)value;
}

static inline void put_i(uint8_t *head, size_t at, int32_t value) { memcpy(head + at, &value, 4); }

static inline void put_f(uint8_t *head, size_t at, double value)
{
    float narrow = (float)value;
    memcpy(head + at, &narrow, 4);
}

/* A header in the machine's order for columns, rows, sections. */
static inline void make_header(uint8_t head[1024], int32_t nx, int32_t ny, int32_t nz, int32_t mode)
{
    static const uint8_t little[2] = { 0x44, 0x44 }, big[2] = { 0x11, 0x11 };
    const uint16_t one = 1;
    memset(head, 0, 1024);
    int32_t n[3] = { nx, ny, nz };
    for (size_t i = 0; i < 3; i++) {
        put_i(head, NX + 4 * i, n[i]);
        put_i(head, M + 4 * i, n[i]);
        put_i(head, MAPC + 4 * i, (int32_t)i + 1);
    }
    put_i(head, MODE, mode);
    put_i(head, ISPG, 1);
    memcpy(head + 208, "MAP ", 4);
    memcpy(head + MACHST, *(const uint8_t *)&one ? little : big, 2);
}

static inline void write_mrc(const char *path, const uint8_t head[1024], const void *data, size_t bytes)
{
    uint8_t *all = malloc(1024 + bytes);
    assert_non_null(all);
    memcpy(all, head, 1024);
    memcpy(all + 1024, data, bytes);
    write_file(path, all, 1024 + bytes);
    free(all);
}
#endif
