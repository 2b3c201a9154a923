/* Model files: what goes in comes out, other software reads it, and no damage goes unseen. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "data/model/model.h"
#include "directory.h"

static const float FLOATS[3] = {1.5F, -2, 1e-30F};
static const double DOUBLES[6] = {0.1, -0.0, 1e300, 4, 5, 6};
static const int64_t WHOLE[2] = {INT64_MAX, -7};
static const int32_t COUNTS[3] = {INT32_MIN, 0, 7};

static hawser_model *sample(void)
{
    hawser_model *model;
    hawser_error error;
    assert_int_equal(hawser_model_new(&model, &error), HAWSER_OK);
    const size_t three[2] = {3, 0}, matrix[2] = {3, 2}, two[2] = {2, 0}, none[2] = {0, 0};
    assert_int_equal(hawser_model_tensor(model, "floats", HAWSER_F32, three, FLOATS, &error), HAWSER_OK);
    assert_int_equal(hawser_model_tensor(model, "weights", HAWSER_F64, matrix, DOUBLES, &error), HAWSER_OK);
    assert_int_equal(hawser_model_tensor(model, "index", HAWSER_I64, two, WHOLE, &error), HAWSER_OK);
    assert_int_equal(hawser_model_tensor(model, "counts", HAWSER_I32, three, COUNTS, &error), HAWSER_OK);
    assert_int_equal(hawser_model_tensor(model, "empty", HAWSER_F64, none, NULL, &error), HAWSER_OK);
    assert_int_equal(hawser_model_fact(model, "algorithm", "ridge", &error), HAWSER_OK);
    assert_int_equal(hawser_model_fact(model, "algorithm", "lasso", &error), HAWSER_OK); /* the later one counts */
    assert_int_equal(hawser_model_fact(model, "quote", "a \"b\" \\ \n \xc3\xa9", &error), HAWSER_OK);
    assert_int_equal(hawser_model_fact(model, "path", "/data/\xe9t\xe9", &error), HAWSER_OK);
    return model;
}

/* What can be put into a model can be saved, and what is saved can be read. */
static void a_full_model_is_read_back(void **state)
{
    (void)state;
    hawser_error error;
    hawser_model *model = NULL, *loaded = NULL;
    char name[20];
    assert_int_equal(hawser_model_new(&model, &error), HAWSER_OK);
    size_t tensors = 0, facts = 0;
    for (hawser_status status = HAWSER_OK; status == HAWSER_OK; tensors++) {
        (void)snprintf(name, sizeof name, "t%zu", tensors);
        status = hawser_model_tensor(model, name, HAWSER_F64, (const size_t[2]){1, 0}, DOUBLES, &error);
    }
    assert_string_equal(error.text, "tensor \"t999\": a model has at most 999");
    for (hawser_status status = HAWSER_OK; status == HAWSER_OK; facts++) {
        (void)snprintf(name, sizeof name, "f%zu", facts);
        status = hawser_model_fact(model, name, "x", &error);
    }
    assert_string_equal(error.text, "fact \"f998\": a model has at most 998");
    assert_int_equal(hawser_model_fact(model, "f0", "y", &error), HAWSER_OK); /* one that is there may change */
    assert_int_equal(hawser_model_save(model, "full", &error), HAWSER_OK);
    assert_int_equal(hawser_model_load("full", &loaded, &error), HAWSER_OK);
    assert_string_equal(hawser_model_text(loaded, "f0"), "y");
    hawser_model_free(model);
    hawser_model_free(loaded);
}

static void is_sample(const hawser_model *model)
{
    hawser_type type;
    size_t dims[2];
    assert_memory_equal(hawser_model_get(model, "weights", &type, dims), DOUBLES, sizeof DOUBLES);
    assert_int_equal(type, HAWSER_F64);
    assert_true(dims[0] == 3 && dims[1] == 2);
    assert_memory_equal(hawser_model_get(model, "floats", &type, dims), FLOATS, sizeof FLOATS);
    assert_int_equal(type, HAWSER_F32);
    assert_true(dims[0] == 3 && dims[1] == 0);
    assert_memory_equal(hawser_model_get(model, "index", &type, NULL), WHOLE, sizeof WHOLE);
    assert_int_equal(type, HAWSER_I64);
    assert_memory_equal(hawser_model_get(model, "counts", &type, dims), COUNTS, sizeof COUNTS);
    assert_int_equal(type, HAWSER_I32);
    assert_non_null(hawser_model_get(model, "empty", NULL, dims));
    assert_int_equal(dims[0], 0);
    assert_null(hawser_model_get(model, "nothing", NULL, NULL));
    assert_string_equal(hawser_model_text(model, "algorithm"), "lasso");
    assert_string_equal(hawser_model_text(model, "quote"), "a \"b\" \\ \n \xc3\xa9");
    assert_string_equal(hawser_model_text(model, "path"), "/data/?t?");
    assert_null(hawser_model_text(model, HW_MODEL_CHECKSUM));
    const char *key, *value;
    assert_true(hawser_model_fact_at(model, 2, &key, &value));
    assert_false(hawser_model_fact_at(model, 3, &key, &value));
}

static unsigned char *content(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    unsigned char *bytes = malloc(1 << 16);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 16, in);
    (void)fclose(in);
    return bytes;
}

static void saved_and_loaded(void **state)
{
    (void)state;
    hawser_error error;
    hawser_model *model = sample(), *loaded;
    assert_int_equal(hawser_model_save(model, "m.safetensors", &error), HAWSER_OK);
    assert_int_equal(hawser_model_save(model, "m.safetensors", &error), HAWSER_OK);
    assert_int_equal(hawser_model_load("m.safetensors", &loaded, &error), HAWSER_OK);
    is_sample(loaded);
    hawser_model_free(loaded);
    hawser_model_free(model);
    size_t size;
    unsigned char *bytes = content("m.safetensors", &size);
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    assert_int_equal(header % 8, 0); /* the data begins aligned */
    assert_int_equal(size, 8 + header + sizeof FLOATS + sizeof DOUBLES + sizeof WHOLE + sizeof COUNTS);
    assert_memory_equal(bytes + 8 + header, DOUBLES, sizeof DOUBLES);
    free(bytes);
}

/* A damaged file is refused, or says what the whole one says (blanks of the header hold nothing). */
static void every_byte_matters(void **state)
{
    (void)state;
    hawser_error error;
    hawser_model *model = sample(), *loaded;
    assert_int_equal(hawser_model_save(model, "m", &error), HAWSER_OK);
    uint64_t digest = hw_model_digest(model);
    hawser_model_free(model);
    size_t size, refused = 0;
    unsigned char *bytes = content("m", &size);
    const unsigned char changes[] = {0x01, 0x20, 0x80, 0xff};
    for (size_t i = 0; i < size; i++)
        for (size_t c = 0; c < sizeof changes; c++) {
            bytes[i] ^= changes[c];
            if (hw_model_parse(bytes, size, "m", &loaded, &error) == HAWSER_OK) {
                assert_true(hw_model_digest(loaded) == digest);
                hawser_model_free(loaded);
            } else {
                assert_int_equal(error.status, HAWSER_BAD_INPUT);
                assert_true(strncmp(error.text, "m: ", 3) == 0);
                refused++;
            }
            bytes[i] ^= changes[c];
        }
    assert_true(refused > (size - 16) * sizeof changes);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(hw_model_parse(bytes, cut, "m", &loaded, &error), HAWSER_BAD_INPUT);
    free(bytes);
}

static hawser_status parse_text(const char *header, size_t data, hawser_error *error)
{
    unsigned char bytes[2000] = {0};
    uint64_t length = strlen(header);
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + 8, header, length);
    hawser_model *model;
    hawser_status status = hw_model_parse(bytes, 8 + length + data, "text", &model, error);
    if (status == HAWSER_OK)
        hawser_model_free(model);
    return status;
}

static void liars_are_refused(void **state)
{
    (void)state;
    hawser_error error;
#define AT(name, type, shape, begin, end)                                                                                   \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"
    assert_int_equal(parse_text("{" AT("a", "F64", "[2]", "0", "16") "}", 16, &error), HAWSER_OK);
    assert_int_equal(parse_text("{" AT("b", "F64", "[1]", "8", "16") "," AT("a", "F64", "[1]", "0", "8") "}", 16, &error),
                     HAWSER_OK);
    assert_int_equal(parse_text("{" AT("a", "F64", "[]", "0", "8") "}  ", 8, &error), HAWSER_OK);
    assert_int_equal(parse_text("{}", 0, &error), HAWSER_OK);
    const struct {
        const char *header;
        size_t data;
    } bad[] = {
        {"{" AT("a", "F64", "[2]", "0", "16") "}", 8},                                       /* cut */
        {"{" AT("a", "F64", "[1]", "0", "8") "}", 16},                                       /* uncovered */
        {"{" AT("a", "F64", "[1]", "0", "8") "," AT("b", "F64", "[1]", "0", "8") "}", 16},   /* overlap */
        {"{" AT("a", "F64", "[2]", "0", "16") "," AT("b", "F64", "[1]", "8", "16") "}", 24}, /* overlap */
        {"{" AT("a", "F64", "[1]", "0", "8") "," AT("a", "F64", "[1]", "8", "16") "}", 16},  /* twice */
        {"{" AT("a", "F64", "[3]", "0", "16") "}", 16},                                      /* shape */
        {"{" AT("a", "F32", "[2]", "0", "16") "}", 16},                                      /* type and size */
        {"{" AT("a", "F64", "[2,0]", "0", "0") "}", 0},                                      /* no columns */
        {"{" AT("a", "F64", "[1,1,2]", "0", "16") "}", 16},                                  /* three dimensions */
        {"{" AT("a", "BF16", "[8]", "0", "16") "}", 16},                                     /* type */
        {"{" AT("a", "F64", "[-2]", "0", "16") "}", 16},                                     /* negative */
        {"{" AT("a", "F64", "[2]", "16", "0") "}", 16},                                      /* backwards */
        {"{" AT("a", "F64", "[2305843009213693954]", "0", "16") "}", 16},                    /* overflow: x 8 */
        {"{" AT("a", "F64", "[4294967296,4294967296]", "0", "0") "}", 16},                   /* overflow */
        {"{" AT("a", "F64", "[2]", "0", "1e9") "}", 16},                                     /* no whole number */
        {"{\"a\":3}", 0},
        {"[]", 0},
        {"{\"__metadata__\":{\"k\":1}}", 0},
        {"{\"__metadata__\":7}", 0},
        {"{\"__metadata__\":{\"hawser.checksum\":\"0\"}}", 0},
        {"{", 0},
        {"{\"\":{}}", 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (parse_text(bad[i].header, bad[i].data, &error) != HAWSER_BAD_INPUT)
            fail_msg("taken: %s", bad[i].header);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    hawser_error error;
    hawser_model *model = sample();
    const size_t one[2] = {1, 0}, huge[2] = {SIZE_MAX / 4, 3};
    assert_int_equal(hawser_model_tensor(model, "weights", HAWSER_F64, one, DOUBLES, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_model_tensor(model, "__metadata__", HAWSER_F64, one, DOUBLES, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_model_tensor(model, "", HAWSER_F64, one, DOUBLES, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_model_tensor(model, "h", HAWSER_F64, huge, DOUBLES, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_model_fact(model, HW_MODEL_CHECKSUM, "1", &error), HAWSER_BAD_ARGUMENT);
    is_sample(model);
    hawser_model_free(model);
    assert_int_equal(hawser_model_load(".", &model, &error), HAWSER_IO);
    assert_int_equal(hawser_model_load("not there", &model, &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "not there"));
}

static void a_full_disk_is_said(void **state)
{
    (void)state;
    hawser_error error;
    if (access("/dev/full", W_OK) != 0)
        skip();
    hawser_model *model = sample();
    assert_int_equal(hawser_model_save(model, "/dev/full", &error), HAWSER_IO);
    assert_int_equal(hawser_model_save(model, "no/such/place", &error), HAWSER_IO);
    hawser_model_free(model);
}

static const char PYTHON[] =
    "for p in \"$HAWSER_PYTHON\" python3; do\n"
    "[ -n \"$p\" ] && \"$p\" -c 'import safetensors.numpy' 2>/dev/null && exec \"$p\" - <<'EOF'\n"
    "from safetensors import safe_open\n"
    "from safetensors.numpy import save_file\n"
    "import numpy as np\n"
    "tensors = {}\n"
    "with safe_open('m', framework='np') as f:\n"
    "    meta = f.metadata()\n"
    "    for k in f.keys(): tensors[k] = f.get_tensor(k)\n"
    "assert tensors['weights'].tolist() == [[0.1, -0.0], [1e300, 4], [5, 6]], tensors\n"
    "assert tensors['floats'].dtype == np.float32 and tensors['index'].tolist() == [2**63 - 1, -7]\n"
    "assert meta['algorithm'] == 'lasso' and meta['quote'] == 'a \"b\" \\\\ \\n \\u00e9', meta\n"
    "save_file(tensors, 'again', metadata=meta)\n"
    "EOF\n"
    "done; exit 77";

/* The file is what other software takes it for, and what that software writes from it is a model again. */
static void python_reads_and_writes_it(void **state)
{
    (void)state;
    hawser_error error;
    hawser_model *model = sample(), *again;
    assert_int_equal(hawser_model_save(model, "m", &error), HAWSER_OK);
    hawser_model_free(model);
    int result = system(PYTHON);
    if (result == 77 << 8) {
        print_message("no Python with the safetensors package: set HAWSER_PYTHON to run this test\n");
        skip();
    }
    assert_int_equal(result, 0);
    assert_int_equal(hawser_model_load("again", &again, &error), HAWSER_OK);
    is_sample(again);
    hawser_model_free(again);
}

static void the_checksum_sees_every_bit(void **state)
{
    (void)state;
    unsigned char bytes[100];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 11);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint64_t whole = hw_hash(bytes, size, 1);
        assert_true(whole != hw_hash(bytes, size, 2));
        for (size_t bit = 0; bit < size * 8; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_true(hw_hash(bytes, size, 1) != whole);
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        if (size > 0)
            assert_true(hw_hash(bytes, size - 1, 1) != whole);
    }
    const unsigned char zeros[64] = {0};
    for (size_t a = 0; a < 64; a++)
        for (size_t b = 0; b < a; b++)
            assert_true(hw_hash(zeros, a, 0) != hw_hash(zeros, b, 0));
}

int main(void)
{
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(saved_and_loaded),           IN_DIRECTORY(a_full_model_is_read_back),
        IN_DIRECTORY(every_byte_matters),         IN_DIRECTORY(liars_are_refused),
        IN_DIRECTORY(wrong_calls_are_refused),    IN_DIRECTORY(a_full_disk_is_said),
        IN_DIRECTORY(python_reads_and_writes_it), cmocka_unit_test(the_checksum_sees_every_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
