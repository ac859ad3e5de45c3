/* test_io_zarr.c - arrays of Zarr, versions 2 and 3, written here by hand: all dtypes, both orders of bytes and of
 * axes, chunks that are plain, packed or missing, at the edges of arrays; boxes; metadata that is refused, damaged
 * chunks. What wf_save and wf_file_write store reads back.
 */
#include "zarr_store.h"

/* ---- stores ---- */

typedef enum packing { PLAIN, GZIP, ZLIB } packing;

/* Packs bytes by deflate's blocks of stored bytes, each of at most 100. Returns the length. */
static size_t pack(packing how, const uint8_t *from, size_t n, uint8_t *to)
{
    size_t used = 0;
    uint32_t crc = 0xffffffffu, a = 1, b = 0;
    static const uint8_t gzip[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };
    memcpy(to, how == GZIP ? gzip : (const uint8_t *)"\x78\x01", how == GZIP ? 10 : 2);
    used += how == GZIP ? 10 : 2;
    for (size_t i = 0; i < n; i++) {
        if (i % 100 == 0) {
            size_t part = n - i < 100 ? n - i : 100;
            to[used++] = i + part == n;
            to[used++] = (uint8_t)part;
            to[used++] = 0;
            to[used++] = (uint8_t)~part;
            to[used++] = 0xff;
        }
        to[used++] = from[i];
        crc ^= from[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        a = (a + from[i]) % 65521;
        b = (b + a) % 65521;
    }
    for (int i = 0; i < 4; i++)
        to[used++] = (uint8_t)(how == GZIP ? ~crc >> 8 * i : (b << 16 | a) >> (24 - 8 * i));
    for (int i = 0; i < 4 && how == GZIP; i++)
        to[used++] = (uint8_t)(n >> 8 * i);
    return used;
}

typedef struct store {
    int version, rank;
    int64_t dim[3], chunk[3];
    wf_dtype dtype;
    bool swap, fortran;
    packing how;
    char separator;
    bool v2_keys;     /* in version 3 */
    int64_t missing;  /* every so many-th chunk has no file; 0: none */
    const char *fill; /* in JSON */
} store;

static const char *name_of(wf_dtype dtype, int version)
{
    switch (dtype) {
    case WF_BOOL:
        return version == 2 ? "b1" : "bool";
    case WF_I8:
        return version == 2 ? "i1" : "int8";
    case WF_U8:
        return version == 2 ? "u1" : "uint8";
    case WF_I16:
        return version == 2 ? "i2" : "int16";
    case WF_U16:
        return version == 2 ? "u2" : "uint16";
    case WF_I32:
        return version == 2 ? "i4" : "int32";
    case WF_U32:
        return version == 2 ? "u4" : "uint32";
    case WF_I64:
        return version == 2 ? "i8" : "int64";
    case WF_U64:
        return version == 2 ? "u8" : "uint64";
    case WF_F16:
        return version == 2 ? "f2" : "float16";
    case WF_F32:
        return version == 2 ? "f4" : "float32";
    default:
        return version == 2 ? "f8" : "float64";
    }
}

static void list(char *to, const int64_t *n, int rank)
{
    *to = 0;
    for (int d = 0; d < rank; d++)
        sprintf(to + strlen(to), "%s%lld", d ? ", " : "", (long long)n[d]);
}

static void write_metadata(const store *s)
{
    char text[1024], shape[64], chunks[64];
    bool big = s->swap; /* this machine is little-endian */
    static const char *const v2_packing[] = { "null", "{\"id\": \"gzip\", \"level\": 5}",
                                              "{\"id\":\"zlib\", \"level\":1}" };
    static const char *const v3_packing[] = { "", ", {\"name\": \"gzip\", \"configuration\": {\"level\": 1}}",
                                              ", {\"name\": \"numcodecs.zlib\"}" };
    list(shape, s->dim, s->rank);
    list(chunks, s->chunk, s->rank);
    if (s->version == 2)
        snprintf(text, sizeof text,
                 "{\"zarr_format\": 2, \"shape\": [%s], \"chunks\": [%s], \"dtype\": \"%s%s\", \"order\": \"%c\",\n"
                 "\"filters\": null, \"compressor\": %s, \"dimension_separator\": \"%c\", \"fill_value\": %s}",
                 shape, chunks, big ? ">" : "\\u003c", name_of(s->dtype, 2), s->fortran ? 'F' : 'C', v2_packing[s->how],
                 s->separator, s->fill);
    else
        snprintf(text, sizeof text,
                 "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [%s], \"data_type\": \"%s\",\n"
                 "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [%s]}},\n"
                 "\"chunk_key_encoding\": {\"name\": \"%s\", \"configuration\": {\"separator\": \"%c\"}},\n"
                 "\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"%s\"}}%s], \"fill_value\": %s,\n"
                 "\"attributes\": {\"a\": [1, {\"b\": [-2.5e3, true]}, \"\\\"\"]}}",
                 shape, name_of(s->dtype, 3), chunks, s->v2_keys ? "v2" : "default", s->separator,
                 big ? "big" : "little", v3_packing[s->how], s->fill);
    write_text(s->version == 2 ? "a.zarr/.zarray" : "a.zarr/zarr.json", text);
}

/* Writes all chunks of the array; `whole` gets what is to be read, `fill` where chunks are missing. */
static void write_store(const store *s, double *whole, double fill)
{
    int64_t chunks[3] = { 1, 1, 1 }, dim[3] = { 1, 1, 1 }, chunk[3] = { 1, 1, 1 }, n = 0, size = 1;
    static uint8_t values[1 << 16], packed[1 << 17];
    size_t bytes = wf_dtype_size(s->dtype);
    for (int d = 0; d < s->rank; d++) {
        dim[3 - s->rank + d] = s->dim[d];
        chunk[3 - s->rank + d] = s->chunk[d];
    }
    for (int d = 0; d < 3; d++) {
        chunks[d] = (dim[d] + chunk[d] - 1) / chunk[d];
        size *= chunk[d];
    }
    assert_true((size_t)size * bytes <= sizeof values);
    write_metadata(s);
    for (int64_t c = 0; c < chunks[0] * chunks[1] * chunks[2]; c++, n++) {
        int64_t at[3] = { c / (chunks[1] * chunks[2]), c / chunks[2] % chunks[1], c % chunks[2] };
        bool is_missing = s->missing && n % s->missing == 0;
        for (int64_t i = 0; i < size; i++) {
            int64_t in[3] = { i / (chunk[1] * chunk[2]), i / chunk[2] % chunk[1], i % chunk[2] }, y[3];
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                y[d] = at[d] * chunk[d] + in[d];
                inside = inside && y[d] < dim[d];
            }
            int64_t element = (y[0] * dim[1] + y[1]) * dim[2] + y[2];
            double v = inside ? pattern(s->dtype, element) : 1;
            set_element(s->dtype, values, s->fortran ? (in[2] * chunk[1] + in[1]) * chunk[0] + in[0] : i, v);
            if (inside)
                whole[element] = is_missing ? fill : v;
        }
        if (s->swap)
            swap_words(values, (size_t)size, bytes);
        char path[128] = "a.zarr/";
        if (s->version == 3 && !s->v2_keys)
            sprintf(path + strlen(path), "c%c", s->separator);
        for (int d = 3 - s->rank; d < 3; d++)
            sprintf(path + strlen(path), d < 2 ? "%lld%c" : "%lld", (long long)at[d], s->separator);
        make_folders(path);
        size_t length = s->how == PLAIN ? (size_t)size * bytes : pack(s->how, values, (size_t)size * bytes, packed);
        if (!is_missing)
            write_file(path, s->how == PLAIN ? values : packed, length);
    }
}

static void check_store(const store *s, double fill)
{
    static double whole[1 << 14];
    write_store(s, whole, fill);
    wf_meta meta = { .size = sizeof meta };
    wf_array *a = load("a.zarr", &meta);
    assert_int_equal(meta.format, WF_FORMAT_ZARR);
    assert_int_equal(wf_array_dtype(a), s->dtype);
    assert_shape(wf_array_shape(a), shape_of(s->dim, s->rank));
    mapped m = map(a);
    for (int64_t i = 0; i < wf_array_count(a); i++)
        if (!(mapped_value(&m, i) == whole[i] || (isnan(whole[i]) && isnan(mapped_value(&m, i)))))
            fail_msg("element %lld is %g, not %g", (long long)i, mapped_value(&m, i), whole[i]);
    wf_shape first = { .rank = s->rank }, count = { .rank = s->rank };
    for (int d = 0; d < s->rank; d++) { /* over the borders of chunks */
        first.dim[d] = s->dim[d] / 3;
        count.dim[d] = s->dim[d] - first.dim[d] - s->dim[d] / 4;
    }
    wf_array *part = wf_load_region(ctx, "a.zarr", first, count, NULL), *view = wf_retain(a);
    assert_non_null(part);
    for (int d = 0; d < s->rank; d++) {
        wf_array *next = wf_view_slice(view, d, first.dim[d], first.dim[d] + count.dim[d], 1);
        wf_release(view);
        view = next;
    }
    mapped p = map(part), v = map(view);
    for (int64_t i = 0; i < wf_array_count(part); i++) {
        double got = mapped_value(&p, i), want = mapped_value(&v, i);
        assert_true(got == want || (isnan(got) && isnan(want)));
    }
    wf_release(view);
    wf_release(part);
    wf_release(a);
    remove_store();
}

static void all_stores_are_read(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_BOOL, WF_I8,  WF_U8,  WF_I16, WF_U16, WF_I32,
                                       WF_U32,  WF_I64, WF_U64, WF_F16, WF_F32, WF_F64 };
    for (int version = 2; version <= 3; version++)
        for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
            for (int k = 0; k < 12; k++) {
                store s = { .version = version,
                            .rank = 1 + k % 3,
                            .dim = { 9, 14, 11 },
                            .chunk = { 4, 5, 11 },
                            .dtype = dtypes[t],
                            .swap = (k + (int)t) % 2,
                            .fortran = version == 2 && k / 2 % 2,
                            .how = (packing)(k / 2 % 3),
                            .separator = k / 3 % 2 ? '.' : '/',
                            .v2_keys = k % 5 == 0,
                            .missing = k % 4 == 3 ? 3 : 0,
                            .fill = k == 7 ? "null" : "1" };
                if (s.version == 2 && wf_dtype_size(s.dtype) == 1)
                    s.swap = false;
                check_store(&s, k == 7 ? 0 : 1);
            }
    static const struct {
        const char *fill;
        double value;
    } fills[] = {
        { "\"NaN\"", NAN }, { "\"Infinity\"", INFINITY }, { "\"-Infinity\"", -INFINITY }, { "-2.5e-1", -0.25 }
    };
    for (int i = 0; i < 4; i++) {
        store s = { .version = 2 + i % 2,
                    .rank = 2,
                    .dim = { 7, 5 },
                    .chunk = { 2, 3 },
                    .dtype = WF_F32,
                    .separator = '/',
                    .missing = 2,
                    .fill = fills[i].fill };
        check_store(&s, fills[i].value);
    }
}

static void special_arrays_are_read(void **state)
{
    (void)state;
    /* complex values; the chunks' first bytes look like gzip */
    static const float pairs[6] = { 1, -2, 3, 4.5f, -5, 6 };
    write_text("a.zarr/.zarray", "{\"zarr_format\":2,\"shape\":[4],\"chunks\":[3],\"dtype\":\"<c8\",\"order\":\"C\","
                                 "\"compressor\":null,\"fill_value\":[0.5, 7]}");
    write_file("a.zarr/0", pairs, sizeof pairs);
    wf_array *a = load("a.zarr", NULL);
    assert_int_equal(wf_array_dtype(a), WF_C64);
    a = in_parts(a);
    for (int i = 0; i < 6; i++)
        assert_true(value_at(a, i) == (double)pairs[i]);
    assert_true(value_at(a, 6) == 0.5 && value_at(a, 7) == 7);
    wf_release(a);
    remove_store();
    write_text("a.zarr/.zarray", "{\"zarr_format\":2,\"shape\":[3],\"chunks\":[3],\"dtype\":\"|u1\",\"order\":\"C\","
                                 "\"compressor\":null,\"fill_value\":null,\"filters\":[]}");
    write_file("a.zarr/0", "\x1f\x8b\x08", 3);
    a = load("a.zarr", NULL);
    assert_true(value_at(a, 0) == 31 && value_at(a, 1) == 139 && value_at(a, 2) == 8);
    wf_release(a);
    remove_store();
    /* no axes; integers that f64 lacks; no elements */
    static const struct {
        const char *type, *text;
        uint64_t value;
    } wholes[] = { { "int64", "9007199254740993", 9007199254740993u },
                   { "int64", "-9007199254740993", (uint64_t)-9007199254740993 },
                   { "int64", "9223372036854775806", 9223372036854775806u },
                   { "uint64", "18446744073709551614", 18446744073709551614u },
                   { "uint64", "-1", 0 },
                   { "int64", "1e3", 1000 } };
    int64_t value = 0;
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[],\"data_type\":\"%s\",\"chunk_grid\":{\"name\":"
            "\"regular\",\"configuration\":{\"chunk_shape\":[]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
            "\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}],\"fill_value\":%s}",
            wholes[i].type, wholes[i].text);
        write_text("a.zarr/zarr.json", text);
        a = load("a.zarr", NULL);
        assert_int_equal(wf_download(a, &value, sizeof value), WF_OK);
        assert_int_equal(value, wholes[i].value);
        wf_release(a);
    }
    value = -3;
    write_file("a.zarr/c", &value, sizeof value);
    a = load("a.zarr", NULL);
    assert_true(value_at(a, 0) == -3);
    wf_release(a);
    remove_store();
    write_text("a.zarr/.zarray",
               "{\"zarr_format\":2,\"shape\":[0,3],\"chunks\":[2,2],\"dtype\":\"<f4\",\"order\":\"C\","
               "\"compressor\":null,\"fill_value\":0}");
    a = load("a.zarr", NULL);
    assert_int_equal(wf_array_count(a), 0);
    wf_release(a);
    remove_store();
}

/* ---- what is refused ---- */

static const char v2[] =
    "{\"zarr_format\": 2, \"shape\": [4, 6], \"chunks\": [2, 3], \"dtype\": \"<f4\", \"order\": \"C\", "
    "\"filters\": null, \"compressor\": null, \"fill_value\": 0}";
static const char v3[] =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4, 6], \"data_type\": \"float32\", \"chunk_grid\": {\"name\": "
    "\"regular\", \"configuration\": {\"chunk_shape\": [2, 3]}}, \"chunk_key_encoding\": {\"name\": \"default\", "
    "\"configuration\": {\"separator\": \"/\"}}, \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": "
    "\"little\"}}], \"fill_value\": 0}";

/* Replaces a part of the metadata. */
static char *changed(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    size_t n = strlen(text) + strlen(to) + 1;
    char *out = malloc(n);
    assert_non_null(out);
    snprintf(out, n, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void other_metadata_is_refused(void **state)
{
    (void)state;
    char digits[400];
    snprintf(digits, sizeof digits, "_value\": 0.%0300d", 0);
    const struct {
        int version;
        const char *from, *to, *text;
    } cases[] = {
        { 2, "null, \"fill", "{\"id\": \"lz4\", \"acceleration\": 1}, \"fill",
          "the codec is \"lz4\" (must be gzip, zlib, zstd or blosc, once" },
        { 2, "\"filters\": null", "\"filters\": [{\"id\": \"delta\"}]", "filters is \"delta\" (must be none)" },
        { 2, "<f4", "<U8", "dtype is \"<U8\" (must be bool, an integer" },
        { 2, "\"<f4\"", "[[\"a\", \"<f4\"]]", "dtype is" },
        { 2, "[4, 6]", "[4, -6]", "shape is -6" },
        { 2, "[2, 3]", "[2, 0]", "chunks is 0 (must be at least 1)" },
        { 2, "[2, 3]", "[2]", "an array of 2 axes has chunks of 1" },
        { 2, "[4, 6]", "[4000000000, 4000000000]", "beyond 2^63" },
        { 2, "\"C\"", "\"A\"", "order is \"A\"" },
        { 2, "_value\": 0", "_value\": \"x\"", "fill_value is \"x\"" },
        { 2, "_value\": 0", digits, "fill_value is 0.00000" },
        { 2, "2, \"shape", "4, \"shape", "zarr_format is 4 (must be 2 or 3)" },
        { 2, "\"order\"", "\"dimension_separator\": \"-\", \"order\"", "the separator is \"-\"" },
        { 2, "null}", "null", "byte" },
        { 3, "}], \"fill", "}, {\"name\": \"crc32c\"}], \"fill", "the codec is \"crc32c\" (must be gzip" },
        { 3, "}], \"fill", "}, {\"name\": \"zstd\"}, {\"name\": \"gzip\"}], \"fill",
          "the codec is \"gzip\" (must be gzip" },
        { 3, "\"bytes\"", "\"sharding_indexed\"", "the codec is \"sharding_indexed\" (must be bytes" },
        { 3, "\"little\"", "\"middle\"", "endian of the codec bytes is \"middle\"" },
        { 3, "\"regular\"", "\"rectilinear\"", "chunk_grid is \"rectilinear\"" },
        { 3, "\"default\"", "\"other\"", "chunk_key_encoding is \"other\"" },
        { 3, "\"array\"", "\"group\"", "the folder is a group (must be an array: name one of the folders in it)" },
        { 3, "float32", "r24", "data_type is \"r24\"" },
        { 3, "\"shape\": [4, 6]", "\"shap\": [4, 6]", "shape is missing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].from, "null}") == 0) {
            write_text("a.zarr/.zarray", "{\"zarr_format\": 2, ");
        } else {
            char *text = changed(cases[i].version == 2 ? v2 : v3, cases[i].from, cases[i].to);
            write_text(cases[i].version == 2 ? "a.zarr/.zarray" : "a.zarr/zarr.json", text);
            free(text);
        }
        assert_refused("a.zarr", cases[i].text);
        remove_store();
    }
    write_text("a.zarr/.zgroup", "{\"zarr_format\": 2}");
    assert_refused("a.zarr", "the folder is a group");
    remove_store();
    write_text("a.zarr/nothing", "x");
    assert_refused("a.zarr", "is a directory without zarr.json or .zarray");
    remove_store();
    write_text("b.zarr", "text");
    assert_refused("b.zarr", "the file is no folder");
}

static void damaged_chunks_are_refused(void **state)
{
    (void)state;
    static double whole[64];
    store s = {
        .version = 3, .rank = 2, .dim = { 4, 6 }, .chunk = { 2, 3 }, .dtype = WF_F32, .separator = '/', .fill = "0"
    };
    write_store(&s, whole, 0);
    write_file("a.zarr/c/1/1", "short", 5);
    assert_null(wf_load(ctx, "a.zarr", NULL));
    assert_error("a.zarr/c/1/1", "a chunk has 24 bytes, and the file holds 5");
    wf_array *part = wf_load_region(ctx, "a.zarr", SHAPE(0, 0), SHAPE(2, 6), NULL); /* the others are read */
    assert_non_null(part);
    wf_release(part);
    remove_store();
    for (int how = GZIP; how <= ZLIB; how++) {
        s.how = (packing)how;
        write_store(&s, whole, 0);
        size_t n;
        uint8_t *good = read_file("a.zarr/c/1/1", &n);
        for (size_t i = 0; i < 2 * n; i++) {
            uint8_t *copy = malloc(n);
            assert_non_null(copy);
            memcpy(copy, good, n);
            if (i >= n)
                copy[i - n] ^= 0x40;
            write_file("a.zarr/c/1/1", copy, i < n ? i : n);
            free(copy);
            wf_array *a = wf_load(ctx, "a.zarr", NULL);
            /* the time and the like in the header of gzip, and bits in front of stored bytes mean nothing */
            bool harmless = i >= n && (how == GZIP ? i - n <= 10 : i - n == 2);
            if (a && !harmless)
                fail_msg("a chunk with byte %zu changed was read", i);
            wf_release(a);
            wf_clear_error(ctx);
        }
        free(good);
        remove_store();
    }
}

static void damaged_metadata_does_no_harm(void **state)
{
    (void)state;
    for (int version = 2; version <= 3; version++) {
        const char *good = version == 2 ? v2 : v3, *path = version == 2 ? "a.zarr/.zarray" : "a.zarr/zarr.json";
        size_t n = strlen(good);
        for (size_t i = 0; i < 3 * n; i++) {
            char *copy = strdup(good);
            assert_non_null(copy);
            if (i >= n)
                copy[i % n] = "\"[]{},:\\x"[i % 9];
            make_folders(path);
            write_file(path, copy, i < n ? i + 1 : n);
            free(copy);
            wf_dtype dtype;
            wf_shape shape;
            if (wf_probe(ctx, "a.zarr", NULL, &dtype, &shape) != WF_OK)
                assert_non_null(strstr(wf_last_message(ctx), "a.zarr"));
            wf_clear_error(ctx);
        }
        remove_store();
    }
    /* as deep as possible */
    enum { DEEP = 100000 };
    char *deep = malloc(DEEP + 1);
    assert_non_null(deep);
    memset(deep, '[', DEEP);
    deep[DEEP] = 0;
    write_text("a.zarr/.zarray", deep);
    assert_refused("a.zarr", "is no JSON");
    free(deep);
    remove_store();
}

/* ---- writing ---- */

static void what_is_saved_reads_back(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_BOOL, WF_I8,  WF_U8,  WF_I16, WF_U16, WF_I32,
                                       WF_U32,  WF_I64, WF_U64, WF_F16, WF_F32, WF_F64 };
    const wf_shape shapes[] = { SHAPE(5),          SHAPE(3, 1030), SHAPE(2, 7, 130), SHAPE(130, 3, 5),
                                SHAPE(2, 3, 4, 5), SHAPE(1, 1, 1), WF_SCALAR,        SHAPE(0, 3) };
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            wf_array *a = make(dtypes[t], shapes[k]);
            wf_meta meta = { .size = sizeof meta, .deflate = k % 2, .is_stack = k == 2, .durable = k == 4 };
            save(a, "a.zarr", &meta);
            wf_array *b = load("a.zarr", NULL);
            assert_int_equal(wf_array_dtype(b), dtypes[t]);
            assert_same_values(b, a);
            wf_release(a);
            wf_release(b);
            remove_store();
        }
    wf_array *a = make(WF_F32, SHAPE(6, 4)), *view = wf_view_slice(a, 1, 3, WF_END_INDEX, -2);
    wf_array *complex = wf_empty(ctx, WF_C64, WF_SHAPE(2, 3));
    static const float pairs[12] = { 1, -2, 3, 4.5f, -5, 6, 7, 8, 9, 10, 11, 12 };
    assert_int_equal(wf_upload(complex, pairs, sizeof pairs), WF_OK);
    save(view, "a.zarr", &(wf_meta){ .size = sizeof(wf_meta), .store_as = WF_STORED_I16 });
    wf_array *b = load("a.zarr", NULL);
    assert_int_equal(wf_array_dtype(b), WF_I16);
    assert_same_values(b, view);
    wf_release(b);
    remove_store();
    save(complex, "a.zarr", NULL);
    b = load("a.zarr", NULL);
    assert_int_equal(wf_array_dtype(b), WF_C64);
    b = in_parts(b);
    for (int i = 0; i < 12; i++)
        assert_true(value_at(b, i) == (double)pairs[i]);
    wf_release(b);
    save_refused(a, "a.zarr", NULL, "there is a folder of this name, which is not replaced");
    remove_store();
    write_text("file.zarr", "text");
    save_refused(a, "file.zarr", NULL, "there is a file of this name, which is not replaced");
    save_refused(a, "none/a.zarr", NULL, "cannot write: no such file or directory");
    save_refused(a, "a.zarr", &(wf_meta){ .size = sizeof(wf_meta), .store_as = WF_STORED_U4 }, "Zarr cannot store u4");
    wf_release(a);
    wf_release(view);
    wf_release(complex);
}

/* Boxes in any order over the borders of chunks, some twice; what is never written is 0. */
static void parts_are_written_in_any_order(void **state)
{
    (void)state;
    enum { D = 3, H = 150, W = 140 };
    for (int packed = 0; packed < 2; packed++) {
        wf_meta meta = { .size = sizeof meta, .deflate = packed };
        wf_file *file = wf_file_create(ctx, "a.zarr", WF_I16, SHAPE(D, H, W), &meta);
        assert_non_null(file);
        static int16_t expected[D][H][W];
        memset(expected, 0, sizeof expected);
        uint32_t random = 3;
        for (int k = 0; k < 12; k++) {
            int64_t first[3], count[3];
            static const int64_t dim[3] = { D, H, W };
            for (int d = 0; d < 3; d++) {
                random = random * 1664525u + 1013904223u;
                first[d] = (random >> 8) % dim[d];
                count[d] = 1 + (random >> 16) % (dim[d] - first[d]);
            }
            wf_array *part = make(WF_I16, SHAPE(count[0], count[1], count[2]));
            assert_int_equal(wf_file_write(file, part, SHAPE(first[0], first[1], first[2])), WF_OK);
            for (int64_t i = 0; i < wf_array_count(part); i++)
                expected[first[0] + i / (count[1] * count[2])][first[1] + i / count[2] % count[1]]
                        [first[2] + i % count[2]] = (int16_t)pattern(WF_I16, i);
            wf_release(part);
        }
        assert_int_equal(access("a.zarr", F_OK), -1);
        assert_int_equal(wf_file_finish(file), WF_OK);
        wf_file_free(file);
        assert_int_equal(leftovers(), 0);
        wf_array *a = load("a.zarr", NULL);
        void *data;
        assert_int_equal(wf_map(a, &data, NULL), WF_OK);
        assert_memory_equal(data, expected, sizeof expected);
        wf_release(a);
        remove_store();
    }
    wf_file *file = wf_file_create(ctx, "a.zarr", WF_I16, SHAPE(3, 3), NULL); /* never finished */
    assert_non_null(file);
    wf_file_free(file);
    assert_int_equal(access("a.zarr", F_OK), -1);
    assert_int_equal(leftovers(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_stores_are_read),
        cmocka_unit_test(special_arrays_are_read),
        cmocka_unit_test(other_metadata_is_refused),
        cmocka_unit_test(damaged_chunks_are_refused),
        cmocka_unit_test(damaged_metadata_does_no_harm),
        cmocka_unit_test(what_is_saved_reads_back),
        cmocka_unit_test(parts_are_written_in_any_order),
    };
    return IO_TESTS(tests);
}
