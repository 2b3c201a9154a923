/* Packed updates keep every bit, are smaller if possible, and are rejected if malformed. */
#include "codec/narrow.h"
#include "exchange/pack.h"

#include "exchange_cluster.h"

/* Makes a plain message of the entries that are not +0. */
static hw_message *plain_of(const double *values, size_t n)
{
    hw_message *message;
    hawser_error error = {0};
    check(encode(values, n, &message, &error), &error);
    return message;
}

static void same_message(const hw_message *a, const hw_message *b)
{
    assert_int_equal(a->envelope.encoding, b->envelope.encoding);
    assert_true(a->envelope.length == b->envelope.length && a->envelope.count == b->envelope.count);
    assert_memory_equal(a->payload, b->payload, a->envelope.length);
}

/* Packs and unpacks. Returns the bytes of the packed payload, or of the plain one if packing does not pay. */
static uint64_t round_trip(const double *values, size_t n)
{
    hawser_error error = {0};
    hw_message *plain = plain_of(values, n), *packed, *back;
    plain->envelope.clock = 77;
    uint64_t bytes = plain->envelope.length;
    check(hw_pack(plain, n, &packed, &error), &error);
    if (packed != NULL) {
        assert_true(packed->envelope.encoding == HW_PACKED && packed->envelope.clock == 77);
        assert_true(packed->envelope.length < bytes);
        bytes = packed->envelope.length;
        check(hw_unpack(packed, n, "it", &back, &error), &error);
        same_message(plain, back);
        hw_message_free(back);
    }
    hw_message_free(packed);
    hw_message_free(plain);
    return bytes;
}

static double of_kind(hw_random *random, int kind)
{
    static const uint64_t odd[] = {0x8000000000000000, 1,
                                   0x8000000000000001, 0x7ff0000000000000,
                                   0x7ff8000000000001, 0x7ff4000000000001,
                                   0xffffffffffffffff, 0x7fefffffffffffff};
    double normal = hw_random_normal(random);
    switch (kind) {
    case 0: return normal;
    case 1: return (double)(float)normal;
    case 2: return hw_narrowed(normal * 1e9, HW_BF16);
    case 3: return hw_narrowed(normal, HW_F16);
    case 4: return (double)hw_random_below(random, 255) - 127;
    case 5: return ((double)hw_random_below(random, 255) - 127) * 0x1p-1074;
    case 6: return ((double)hw_random_below(random, 200) - 100) * 0x1p900;
    case 7: return from_bits(hw_random_next(random));
    case 8: return 3;
    default: return from_bits(odd[hw_random_below(random, 8)]);
    }
}

static void every_bit_is_restored(void **state)
{
    (void)state;
    enum { N = 9000 };
    static double values[N];
    static const uint64_t spacings[] = {1, 2, 3, 40, 300, 1000};
    hw_random random = hw_random_at(11, 0, 0, 0);
    for (int round = 0; round < 600; round++) {
        int kind = round % 10;
        size_t n = 1 + (size_t)hw_random_below(&random, N), spacing = (size_t)spacings[hw_random_below(&random, 6)];
        memset(values, 0, sizeof values);
        for (size_t i = (size_t)hw_random_below(&random, n); i < n; i += 1 + (size_t)hw_random_below(&random, spacing))
            values[i] = of_kind(&random, hw_random_below(&random, 50) == 0 && round % 3 == 0 ? 9 : kind);
        (void)round_trip(values, n);
    }
}

static void packed_updates_have_the_expected_size(void **state)
{
    (void)state;
    enum { N = 100000, HEAD = 32 };
    static double values[N];
    hw_random random = hw_random_at(12, 0, 0, 0);
    static const struct {
        int kind;
        size_t step;
        double most; /* bytes per entry, without the head */
    } cases[] = {
        {0, 1, 8},     {1, 1, 4},     {2, 1, 2},     {3, 1, 2},     {4, 1, 1.01}, /* dense: 2 bytes of scale a tile */
        {0, 10, 9.01}, {1, 10, 5.01}, {2, 10, 3.01}, {4, 10, 2.06}, {0, 1000, 10.03},
        {8, 1, 0.05}, /* one number over and over: LZ4 */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t count = 0;
        memset(values, 0, sizeof values);
        for (size_t i = 0; i < N; i += cases[k].step, count++)
            do
                values[i] = of_kind(&random, cases[k].kind);
            while (values[i] == 0);
        double bytes = ((double)round_trip(values, N) - HEAD) / (double)count;
        if (bytes > cases[k].most)
            fail_msg("case %zu: %g bytes an entry", k, bytes);
    }
}

static void small_updates_stay_plain(void **state)
{
    (void)state;
    double values[5] = {1, 2, 3, 4, 5};
    hw_message *packed, *plain = plain_of(values, 5), *nothing = plain_of(values, 0);
    assert_int_equal(hw_pack(plain, 5, &packed, NULL), HAWSER_OK);
    assert_null(packed);
    assert_int_equal(hw_pack(nothing, 5, &packed, NULL), HAWSER_OK);
    assert_null(packed);
    hw_message_free(plain);
    hw_message_free(nothing);
}

/* Numbers round to the nearest 16-bit number, ties to even. All 16-bit numbers stay as they are. */
static void rounding_is_to_the_nearest(void **state)
{
    (void)state;
    const struct {
        uint16_t (*to)(double);
        double (*of)(uint16_t);
        uint16_t largest;
    } kinds[] = {{hw_to_bf16, hw_of_bf16, 0x7f7f}, {hw_to_f16, hw_of_f16, 0x7bff}};
    hw_random random = hw_random_at(13, 0, 0, 0);
    for (int k = 0; k < 2; k++) {
        for (unsigned bits = 0; bits <= kinds[k].largest; bits++) {
            double value = kinds[k].of((uint16_t)bits), next = kinds[k].of((uint16_t)(bits + 1));
            assert_true(kinds[k].to(value) == bits && kinds[k].to(-value) == (bits | 0x8000));
            assert_true(bits == kinds[k].largest || next > value);
            if (bits == kinds[k].largest || bits % 5 != 0)
                continue;
            double middle = value + (next - value) / 2, inside = value + (next - value) * hw_random_uniform(&random);
            assert_true(kinds[k].to(middle) == bits + bits % 2);
            assert_true(kinds[k].to(nextafter(middle, value)) == bits && kinds[k].to(nextafter(middle, next)) == bits + 1);
            assert_true(fabs(kinds[k].of(kinds[k].to(inside)) - inside) <= (next - value) / 2);
        }
        assert_true(kinds[k].to(1e300) == kinds[k].largest && kinds[k].to(-1e300) == (kinds[k].largest | 0x8000));
        assert_true(kinds[k].to(1e-300) == 0);
    }
    assert_true(hw_of_f16(0x3c00) == 1 && hw_of_f16(0x0001) == 0x1p-24 && hw_of_f16(0x7bff) == 65504);
    assert_true(hw_of_bf16(0x3f80) == 1 && hw_of_bf16(0xc040) == -3);
}

static void scales_hold_values_of_8_bits(void **state)
{
    (void)state;
    hw_random random = hw_random_at(14, 0, 0, 0);
    for (int round = 0; round < 20000; round++) {
        double most = fabs(from_bits(hw_random_next(&random) & 0x7fefffffffffffff));
        if (round < 300)
            most = round * 0x1p-1074;
        int exponent = hw_scale_for(most);
        double scaled = hw_scaled(most, exponent);
        assert_true(exponent >= -1074 && exponent <= HW_SCALE_MOST);
        assert_true(exponent == HW_SCALE_MOST || rint(scaled) <= 127);
        assert_true(scaled >= 63.5 || most < 0x1p-1000);
    }
    int exponent;
    const double sound[] = {0, 127 * 0x1p-3, -0x1p-3, 64}, minus[] = {1, -0.0}, wide[] = {128, 1, 0.5}, more[] = {129};
    assert_true(hw_scale_of(sound, 3, &exponent) && exponent == -3);
    assert_false(hw_scale_of(sound, 4, &exponent));
    assert_false(hw_scale_of(minus, 2, &exponent));
    assert_false(hw_scale_of(wide, 3, &exponent));
    assert_false(hw_scale_of(more, 1, &exponent));
    assert_false(hw_scale_of(&(double){NAN}, 1, &exponent));
}

/* With any byte changed or any length cut, unpacking fails, or its result passes to hw_payload_check. Sanitizers check the
 * bounds. */
static void malformed_updates_are_rejected(void **state)
{
    (void)state;
    enum { N = 4000 };
    static double values[N], out[N];
    hw_random random = hw_random_at(15, 0, 0, 0);
    size_t refused = 0, tried = 0;
    for (int kind = 0; kind < 9; kind++)
        for (size_t step = 1; step <= 41; step += 20) {
            memset(values, 0, sizeof values);
            for (size_t i = 0; i < N; i += step)
                values[i] = of_kind(&random, kind);
            hawser_error error = {0};
            hw_message *plain = plain_of(values, N), *packed;
            check(hw_pack(plain, N, &packed, &error), &error);
            hw_message_free(plain);
            for (size_t at = 0; packed != NULL && at < packed->envelope.length; at += at < 300 ? 1 : 97) {
                hw_message *bad, *back;
                size_t length = at % 3 == 2 ? at : packed->envelope.length;
                assert_int_equal(hw_message_new(length, &bad, NULL), HAWSER_OK);
                memcpy(bad->payload, packed->payload, length);
                bad->envelope = packed->envelope;
                bad->envelope.form = HW_FORM_VALUES;
                bad->envelope.length = length;
                bad->envelope.count += at % 50 == 49;
                if (at < length)
                    ((unsigned char *)bad->payload)[at] ^= (unsigned char)(1 + hw_random_below(&random, 255));
                error.text[0] = '\0';
                tried++;
                if (hw_unpack(bad, N, "a bad one", &back, &error) == HAWSER_OK) {
                    if (decode(back, 1, N, out, &error) != HAWSER_OK)
                        refused++;
                } else {
                    refused++;
                    assert_null(back);
                    assert_non_null(strstr(error.text, "a bad one"));
                }
                hw_message_free(back);
                hw_message_free(bad);
            }
            hw_message_free(packed);
        }
    assert_true(tried > 5000 && refused > tried / 8);
}

/* A head cannot claim more entries than the state has. */
static void a_false_head_allocates_nothing_large(void **state)
{
    (void)state;
    const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 31, UINT64_C(1) << 40, 1 << 30};
    for (size_t k = 0; k < 4; k++)
        for (int field = 0; field < 3; field++) {
            hawser_error error = {0};
            hw_message *bad, *back;
            assert_int_equal(hw_message_new(64, &bad, NULL), HAWSER_OK);
            memset(bad->payload, 0, 64);
            ((unsigned char *)bad->payload)[2] = 1; /* compressed */
            ((uint64_t *)bad->payload)[2] = field == 0 ? sizes[k] : 800;
            ((uint64_t *)bad->payload)[3] = field == 1 ? sizes[k] : 0;
            bad->envelope = (hw_envelope){.encoding = HW_PACKED, .count = field == 2 ? sizes[k] : 100, .length = 64};
            assert_int_equal(hw_unpack(bad, 1000, "a lie", &back, &error), HAWSER_BAD_INPUT);
            hw_message_free(bad);
        }
}

/* ------------------------------------------------------------------------------------------------------ other types ---- */

enum { TYPED = 5000 };
/* Values of one type, and the bytes that an entry may take in a dense update, without the head. */
typedef struct typed_case {
    hawser_type type;
    int64_t least, most; /* of integers */
    int kind;            /* of floats: of_kind, of an f32 already exact */
    double bytes;
} typed_case;

static const typed_case typed_cases[] = {
    {HAWSER_I64, INT8_MIN, INT8_MAX, 0, 1.01},
    {HAWSER_I64, INT8_MIN - 1, INT8_MAX, 0, 2.01},
    {HAWSER_I64, INT16_MIN, INT16_MAX, 0, 2.01},
    {HAWSER_I64, INT16_MIN, INT16_MAX + 1, 0, 4.01},
    {HAWSER_I64, INT32_MIN, INT32_MAX, 0, 4.01},
    {HAWSER_I64, INT32_MIN, (int64_t)INT32_MAX + 1, 0, 8.01},
    {HAWSER_I64, INT64_MIN, INT64_MAX, 0, 8.01},
    {HAWSER_I32, INT8_MIN, INT8_MAX, 0, 1.01},
    {HAWSER_I32, INT16_MIN, INT16_MAX, 0, 2.01},
    {HAWSER_I32, INT32_MIN, INT32_MAX, 0, 4.01},
    {HAWSER_F32, 0, 0, 1, 4.01},
    {HAWSER_F32, 0, 0, 2, 2.01},
    {HAWSER_F32, 0, 0, 3, 2.01},
    {HAWSER_F32, 0, 0, 4, 1.01},
};

static void put_typed(const typed_case *c, hw_random *random, void *values, size_t i)
{
    /* The first entries are the bounds, which decide the width. */
    uint64_t span = (uint64_t)c->most - (uint64_t)c->least, drawn = hw_random_next(random);
    uint64_t offset = span == UINT64_MAX ? drawn : drawn % (span + 1);
    int64_t whole = i == 0 ? c->least : i == 1 ? c->most : (int64_t)((uint64_t)c->least + offset);
    float single = c->type == HAWSER_F32 ? (float)of_kind(random, c->kind) : 0;
    if (c->type == HAWSER_I64)
        ((int64_t *)values)[i] = whole;
    else if (c->type == HAWSER_I32)
        ((int32_t *)values)[i] = (int32_t)whole;
    else
        ((float *)values)[i] = single != 0 ? single : 1;
}

static hw_message *typed_message(const typed_case *c, hw_random *random, size_t step)
{
    static uint64_t values[TYPED];
    hw_message *message;
    hawser_error error = {0};
    memset(values, 0, sizeof values);
    for (size_t i = 0; i < TYPED; i += i == 0 ? 1 : step)
        put_typed(c, random, values, i);
    check(hw_encode_range(c->type, values, 0, TYPED, TYPED, NULL, &message, &error), &error);
    assert_int_equal(message->envelope.type, c->type);
    return message;
}

static void every_type_is_restored(void **state)
{
    (void)state;
    hw_random random = hw_random_at(17, 0, 0, 0);
    for (size_t k = 0; k < sizeof typed_cases / sizeof *typed_cases; k++)
        for (size_t step = 1; step <= 31; step += 10) {
            const typed_case *c = &typed_cases[k];
            hawser_error error = {0};
            hw_message *plain = typed_message(c, &random, step), *packed, *back;
            size_t size = c->type == HAWSER_I64 ? 8 : 4, count = (size_t)plain->envelope.count;
            assert_int_equal(plain->envelope.length, step == 1 ? 8 + count * size : count * (size + 4));
            check(hw_pack(plain, TYPED, &packed, &error), &error);
            if (step == 1 && c->bytes < (double)size)
                assert_true(packed != NULL && (double)(packed->envelope.length - 32) <= c->bytes * (double)count);
            if (packed != NULL) {
                check(hw_unpack(packed, TYPED, "it", &back, &error), &error);
                same_message(plain, back);
                assert_int_equal(back->envelope.type, c->type);
                hw_message_free(back);
            }
            hw_message_free(packed);
            hw_message_free(plain);
        }
}

/* A changed byte, a cut or another type: refused, or a payload that passes its check. Sanitizers check the bounds. */
static void malformed_updates_of_any_type_are_rejected(void **state)
{
    (void)state;
    hw_random random = hw_random_at(18, 0, 0, 0);
    size_t refused = 0, tried = 0;
    for (size_t k = 0; k < sizeof typed_cases / sizeof *typed_cases; k++) {
        hawser_error error = {0};
        hw_message *plain = typed_message(&typed_cases[k], &random, 1 + 20 * (k % 2)), *packed;
        check(hw_pack(plain, TYPED, &packed, &error), &error);
        hw_message_free(plain);
        for (size_t at = 0; packed != NULL && at < packed->envelope.length; at += at < 100 ? 1 : 397) {
            hw_message *bad, *back;
            hw_payload payload;
            size_t length = at % 3 == 2 ? at : packed->envelope.length;
            assert_int_equal(hw_message_new(length, &bad, NULL), HAWSER_OK);
            memcpy(bad->payload, packed->payload, length);
            bad->envelope = packed->envelope;
            bad->envelope.length = length;
            bad->envelope.type = (uint8_t)(at % 4 == 3 ? hw_random_below(&random, 6) : packed->envelope.type);
            if (at < length)
                ((unsigned char *)bad->payload)[at] ^= (unsigned char)(1 + hw_random_below(&random, 255));
            tried++;
            if (hw_unpack(bad, TYPED, "a bad one", &back, &error) != HAWSER_OK ||
                hw_payload_check(back, TYPED, "a bad one", &payload, &error) != HAWSER_OK)
                refused++;
            hw_message_free(back);
            hw_message_free(bad);
        }
        hw_message_free(packed);
    }
    assert_true(tried > 1000 && refused > tried / 8);
}

static void replicas_take_packed_updates(void **state)
{
    (void)state;
    enum { N = 3000 };
    hawser_error error = {0};
    hw_replica *replicas[2];
    hw_replica_spec spec = {.name = "v", .count = N, .blocks = 2, .sources = 2, .rule = {1, 1, NULL, NULL}};
    for (uint32_t b = 0; b < 2; b++) {
        spec.block = b;
        check(hw_replica_new(&spec, &replicas[b], &error), &error);
        hw_replica_begin(replicas[b], 0, (hw_policy){HW_POLICY_SSP, 1});
    }
    for (size_t i = 0; i < N; i += 3)
        cache_of(replicas[0])[i] = (double)i;
    hw_message *plain, *packed;
    check(hw_replica_cut(replicas[0], 0, true, false, &plain, &error), &error);
    check(hw_pack(plain, N, &packed, &error), &error);
    assert_non_null(packed);
    plain->envelope.type = HAWSER_I64; /* of the same size, which only its type tells apart */
    assert_int_equal(hw_replica_accept(replicas[1], plain, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "of type 2 for state 'v', which is of f64"));
    check(hw_replica_accept(replicas[1], packed, &error), &error);
    assert_true(same_bits(hw_replica_base(replicas[0]), hw_replica_base(replicas[1]), N));
    for (uint32_t b = 0; b < 2; b++)
        hw_replica_free(replicas[b]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_is_restored),
        cmocka_unit_test(packed_updates_have_the_expected_size),
        cmocka_unit_test(small_updates_stay_plain),
        cmocka_unit_test(rounding_is_to_the_nearest),
        cmocka_unit_test(scales_hold_values_of_8_bits),
        cmocka_unit_test(malformed_updates_are_rejected),
        cmocka_unit_test(a_false_head_allocates_nothing_large),
        cmocka_unit_test(every_type_is_restored),
        cmocka_unit_test(malformed_updates_of_any_type_are_rejected),
        cmocka_unit_test(replicas_take_packed_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
