#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/distance.h"
#include "base/option_value.h"
#include "hawser/options.h"

static const hawser_option rows[] = {{"tol", HAWSER_NUMBER, "1e-6", "(0,1]", "TOL", "tolerance", "0.1.0", 0},
                                     {"workers", HAWSER_INTEGER, NULL, "[1,4096]", "K", "workers", "0.1.0", 'k'},
                                     {"C", HAWSER_NUMBER, NULL, "(0,inf)", "C", "capital", "0.1.0", 0},
                                     {"seed", HAWSER_INTEGER, "0", NULL, "N", "seed", "0.1.0", 0},
                                     {"quota", HAWSER_BYTES, "0", "[0,8E)", "BYTES" HW_OR_AUTO, "quota", "0.1.0", 0},
                                     {"time-limit", HAWSER_SECONDS, NULL, "(0,inf)", "TIME", "limit", "0.1.0", 0},
                                     {"sync", HAWSER_WORD, "bsp", "bsp|ssp:N|tap", "SYNC", "sync", "0.1.0", 's'},
                                     {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "intercept", "0.1.0", 0},
                                     {"quiet", HAWSER_FLAG, "no", NULL, NULL, "quiet", "0.1.0", 'q'},
                                     {"verbose", HAWSER_FLAG, "no", NULL, NULL, "verbose", "0.1.0", 'v'},
                                     {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};
static const hawser_option more[] = {
    {"output", HAWSER_PATH, NULL, NULL, "FILE", "output", "0.1.0", 'o'},
    {"note", HAWSER_TEXT, NULL, NULL, "TEXT", "note", "0.1.0", 0},
    {"lambdas", HAWSER_NUMBERS, NULL, "(0,inf)", "LIST", "list", "0.1.0", 0},
    {"exchange-every", HAWSER_NUMBER, "1", "(0,1]", "H" HW_OR_AUTO_FROM, "fraction", "0.1.0", 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};
static const hawser_option *const tables[] = {rows, more, NULL};

typedef struct fixture {
    hawser_options *options;
    hawser_error error;
    char path[64];
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(hawser_options_new(tables, &f->options, &f->error), HAWSER_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    hawser_options_free(f->options);
    if (f->path[0] != '\0')
        unlink(f->path);
    free(f);
    return 0;
}

static hawser_status from_file(fixture *f, const char *text, size_t length)
{
    if (f->path[0] != '\0')
        unlink(f->path);
    snprintf(f->path, sizeof f->path, "/tmp/hawser-options-XXXXXX");
    int descriptor = mkstemp(f->path);
    assert_true(descriptor >= 0);
    assert_true(write(descriptor, text, length) == (ssize_t)length);
    close(descriptor);
    return hawser_options_file(f->options, f->path, &f->error);
}

static hawser_status give(fixture *f, const char *key, const char *value)
{
    return hawser_options_set(f->options, key, value, HAWSER_FROM_PROGRAM, "program", &f->error);
}

/* Hands argv over in one string, words separated by blanks; leaves what stays in `rest`, joined the same way. */
static hawser_status arguments(fixture *f, const char *words, char *rest)
{
    char copy[300], *argv[40] = {"hawser"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", words);
    char *next = copy;
    for (char *word = strsep(&next, " "); word != NULL; word = strsep(&next, " "))
        if (*word != '\0')
            argv[argc++] = word;
    hawser_status status = hawser_options_arguments(f->options, &argc, argv, &f->error);
    rest[0] = '\0';
    size_t length = 0;
    for (int i = 1; status == HAWSER_OK && i < argc; i++)
        length += (size_t)snprintf(rest + length, 300 - length, "%s%s", i > 1 ? " " : "", argv[i]);
    if (status == HAWSER_OK)
        assert_string_equal(argv[0], "hawser");
    return status;
}

static void refused(fixture *f, const char *key, const char *value, const char *says)
{
    hawser_status status = give(f, key, value);
    if (status != HAWSER_BAD_OPTION || strstr(f->error.text, says) == NULL || strstr(f->error.text, key) == NULL)
        fail_msg("%s = '%s' gave %d: %s", key, value, status, f->error.text);
}

static void defaults_are_read(void **state)
{
    fixture *f = *state;
    const char *where;
    assert_true(hawser_options_number(f->options, "tol") == 1e-6);
    assert_true(hawser_options_flag(f->options, "intercept"));
    assert_false(hawser_options_flag(f->options, "quiet"));
    assert_string_equal(hawser_options_text(f->options, "sync"), "bsp");
    assert_false(hawser_options_has(f->options, "workers"));
    assert_true(hawser_options_has(f->options, "seed"));
    assert_false(hawser_options_has(f->options, "absent"));
    assert_null(hawser_options_text(f->options, "workers"));
    assert_int_equal(hawser_options_source(f->options, "tol", &where), HAWSER_FROM_DEFAULT);
    assert_string_equal(where, "default");
    size_t count = 0;
    while (hawser_options_row(f->options, count) != NULL)
        count++;
    assert_int_equal(count, sizeof rows / sizeof *rows + sizeof more / sizeof *more - 2);
    assert_ptr_equal(hawser_options_row(f->options, sizeof rows / sizeof *rows - 1), &more[0]);
}

/* "auto" has the default, and "auto:H" the value H of the start; only rows whose unit says so take them. */
static void auto_stands_for_a_value_that_changes(void **state)
{
    fixture *f = *state;
    assert_int_equal(give(f, "exchange-every", "auto:0.25"), HAWSER_OK);
    assert_true(hawser_options_number(f->options, "exchange-every") == 0.25);
    assert_string_equal(hawser_options_text(f->options, "exchange-every"), "auto:0.25");
    assert_int_equal(give(f, "exchange-every", "auto"), HAWSER_OK);
    assert_true(hawser_options_number(f->options, "exchange-every") == 1);
    assert_int_equal(give(f, "quota", "auto"), HAWSER_OK);
    assert_int_equal(hawser_options_bytes(f->options, "quota"), 0);
    assert_true(hw_is_auto("auto") && hw_is_auto("auto:1") && !hw_is_auto("autos") && !hw_is_auto("bsp") &&
                !hw_is_auto(NULL));
    refused(f, "exchange-every", "auto:0", "'0' is not within (0,1]");
    refused(f, "exchange-every", "auto:", "auto or auto:H");
    refused(f, "exchange-every", "autos", "auto or auto:H");
    refused(f, "quota", "auto:1", "or auto");
    refused(f, "tol", "auto", "not a finite number");
}

static void every_kind_is_read(void **state)
{
    fixture *f = *state;
    assert_int_equal(give(f, "seed", "-9223372036854775808"), HAWSER_OK);
    assert_true(hawser_options_integer(f->options, "seed") == INT64_MIN);
    assert_int_equal(give(f, "exchange-every", "0x1p-3"), HAWSER_OK);
    assert_true(hawser_options_number(f->options, "exchange-every") == 0.125);
    const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"0", 0},
                 {"17", 17},
                 {"17B", 17},
                 {"64k", 65536},
                 {"64K", 65536},
                 {"1.5M", 1572864},
                 {"2GiB", 2147483648},
                 {"1kB", 1024},
                 {"3T", 3298534883328},
                 {"1e3", 1000},
                 {"9007199254740993", 9007199254740993},
                 {".5k", 512}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(give(f, "quota", sizes[i].text), HAWSER_OK);
        assert_true(hawser_options_bytes(f->options, "quota") == sizes[i].bytes);
    }
    const struct {
        const char *text;
        double seconds;
    } times[] = {{"90", 90}, {"90s", 90}, {"5m", 300}, {"2h", 7200}, {"250ms", 0.25}, {"1.5min", 90}, {"1d", 86400}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_int_equal(give(f, "time-limit", times[i].text), HAWSER_OK);
        assert_true(hawser_options_number(f->options, "time-limit") == times[i].seconds);
    }
    const char *flags[] = {"yes", "no", "true", "false", "1", "0"};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(give(f, "quiet", flags[i]), HAWSER_OK);
        assert_int_equal(hawser_options_flag(f->options, "quiet"), i % 2 == 0);
    }
    const char *words[] = {"bsp", "tap", "ssp:0", "ssp:3", "ssp:4294967295"};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(give(f, "sync", words[i]), HAWSER_OK);
        assert_string_equal(hawser_options_text(f->options, "sync"), words[i]);
    }
    size_t count;
    assert_int_equal(give(f, "lambdas", "1,0.5,25e-2"), HAWSER_OK);
    const double *numbers = hawser_options_numbers(f->options, "lambdas", &count);
    assert_int_equal(count, 3);
    assert_true(numbers[0] == 1 && numbers[1] == 0.5 && numbers[2] == 0.25);
    assert_int_equal(give(f, "lambdas", ""), HAWSER_OK);
    hawser_options_numbers(f->options, "lambdas", &count);
    assert_int_equal(count, 0);
    assert_int_equal(give(f, "note", ""), HAWSER_OK);
    assert_string_equal(hawser_options_text(f->options, "note"), "");
}

static void bad_values_are_refused(void **state)
{
    fixture *f = *state;
    refused(f, "seed", "1.5", "whole number");
    refused(f, "seed", "", "whole number");
    refused(f, "seed", " 1", "whole number");
    refused(f, "seed", "9223372036854775808", "whole number");
    refused(f, "tol", "abc", "finite number");
    refused(f, "tol", "1e-3x", "finite number");
    refused(f, "tol", "nan", "finite number");
    refused(f, "tol", "inf", "finite number");
    refused(f, "tol", "0", "not within (0,1]");
    refused(f, "tol", "1.0000001", "not within (0,1]");
    refused(f, "workers", "0", "not within [1,4096]");
    refused(f, "workers", "4097", "not within [1,4096]");
    refused(f, "quota", "-1", "a size");
    refused(f, "quota", "12q", "a size");
    refused(f, "quota", "99E", "a size");
    refused(f, "quota", "8E", "not within [0,8E)");
    refused(f, "time-limit", "5 parsecs", "a duration");
    refused(f, "time-limit", "-5s", "a duration");
    refused(f, "time-limit", "0", "not within (0,inf)");
    refused(f, "quiet", "maybe", "yes or no");
    refused(f, "sync", "bsq", "did you mean 'bsp'?");
    refused(f, "sync", "ssp", "did you mean 'ssp:N'?");
    refused(f, "sync", "ssp:", "one of bsp|ssp:N|tap");
    refused(f, "sync", "ssp:-1", "one of bsp|ssp:N|tap");
    refused(f, "sync", "ssp:4294967296", "one of bsp|ssp:N|tap");
    refused(f, "sync", "bspp", "one of bsp|ssp:N|tap");
    refused(f, "output", "", "a file name");
    refused(f, "lambdas", "1,,2", "separated by commas");
    refused(f, "lambdas", "1,2,", "separated by commas");
    refused(f, "lambdas", "1;2", "separated by commas");
    refused(f, "lambdas", "1,-2", "not within (0,inf)");
    assert_string_equal(hawser_options_text(f->options, "sync"), "bsp"); /* nothing above left a trace */
    assert_true(hawser_options_number(f->options, "tol") == 1e-6);
    assert_int_equal(give(f, "tol", "1"), HAWSER_OK);
    assert_int_equal(give(f, "workers", "4096"), HAWSER_OK);
}

static void stronger_sources_win(void **state)
{
    fixture *f = *state;
    const char *where;
    const char *values[] = {"0.1", "0.2", "0.3", "0.4", "0.5"};
    for (int s = HAWSER_FROM_PROGRAM; s <= HAWSER_FROM_CALL; s++) {
        assert_int_equal(hawser_options_set(f->options, "tol", values[s - 1], (hawser_source)s, "place", &f->error),
                         HAWSER_OK);
        assert_string_equal(hawser_options_text(f->options, "tol"), values[s - 1]);
        for (int weaker = HAWSER_FROM_DEFAULT; weaker < s; weaker++) {
            assert_int_equal(hawser_options_set(f->options, "tol", "0.9", (hawser_source)weaker, "x", &f->error), HAWSER_OK);
            assert_string_equal(hawser_options_text(f->options, "tol"), values[s - 1]);
            assert_int_equal(hawser_options_source(f->options, "tol", &where), s);
            assert_string_equal(where, "place");
        }
    }
    assert_int_equal(hawser_options_set(f->options, "tol", "7", HAWSER_FROM_FILE, "x", &f->error), HAWSER_BAD_OPTION);
}

static void a_call_is_named_as_it_was_given(void **state)
{
    fixture *f = *state;
    char *environment[] = {(char[]){"HAWSER_TOL=0.3"}, NULL};
    assert_int_equal(hawser_options_set(f->options, "tol", "0.5", HAWSER_FROM_CALL, "tol=", &f->error), HAWSER_OK);
    assert_int_equal(hawser_options_environment(f->options, environment, &f->error), HAWSER_OK);
    assert_true(hawser_options_number(f->options, "tol") == 0.5);
    assert_int_equal(hawser_options_set(f->options, "tol", "7", HAWSER_FROM_CALL, "tol=", &f->error), HAWSER_BAD_OPTION);
    assert_true(strncmp(f->error.text, "tol= ", 5) == 0 || strncmp(f->error.text, "tol=:", 5) == 0);
    assert_int_equal(hawser_options_set(f->options, "exchange-evry", "1", HAWSER_FROM_CALL, "exchange_evry=", &f->error),
                     HAWSER_BAD_OPTION);
    assert_string_equal(f->error.text, "unknown option exchange_evry=; did you mean exchange_every=?");
    assert_int_equal(hawser_options_set(f->options, "zzzzzz", "1", HAWSER_FROM_CALL, "zzzzzz=", &f->error),
                     HAWSER_BAD_OPTION);
    assert_string_equal(f->error.text, "unknown option zzzzzz=");
}

static void real_sources_win_in_order(void **state)
{
    fixture *f = *state;
    char rest[300];
    char variable[] = "HAWSER_EXCHANGE_EVERY=0.3", other[] = "PATH=/bin";
    char *environment[] = {other, variable, NULL};
    assert_int_equal(arguments(f, "--tol 0.5", rest), HAWSER_OK);
    assert_int_equal(hawser_options_environment(f->options, environment, &f->error), HAWSER_OK);
    const char text[] = "tol = 0.25\nexchange-every=0.2\nsync = tap\n";
    assert_int_equal(from_file(f, text, sizeof text - 1), HAWSER_OK);
    assert_int_equal(give(f, "sync", "ssp:2"), HAWSER_OK);
    assert_int_equal(give(f, "seed", "4"), HAWSER_OK);
    const char *where;
    assert_true(hawser_options_number(f->options, "tol") == 0.5);
    assert_int_equal(hawser_options_source(f->options, "tol", &where), HAWSER_FROM_COMMAND_LINE);
    assert_string_equal(where, "--tol");
    assert_true(hawser_options_number(f->options, "exchange-every") == 0.3);
    assert_int_equal(hawser_options_source(f->options, "exchange-every", &where), HAWSER_FROM_ENVIRONMENT);
    assert_string_equal(where, "HAWSER_EXCHANGE_EVERY");
    assert_string_equal(hawser_options_text(f->options, "sync"), "tap");
    assert_int_equal(hawser_options_source(f->options, "sync", &where), HAWSER_FROM_FILE);
    assert_non_null(strstr(where, ":3"));
    assert_int_equal(hawser_options_source(f->options, "seed", &where), HAWSER_FROM_PROGRAM);
    assert_int_equal(hawser_options_source(f->options, "quota", &where), HAWSER_FROM_DEFAULT);
}

static void unknown_keys_name_the_nearest(void **state)
{
    fixture *f = *state;
    char rest[300];
    const struct {
        const char *typed, *known;
    } cases[] = {{"worker", "workers"},      {"tl", "tol"},    {"exchange-evry", "exchange-every"},
                 {"exch", "exchange-every"}, {"snyc", "sync"}, {"interecpt", "intercept"},
                 {"lambda", "lambdas"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[100], says[100];
        snprintf(words, sizeof words, "--%s=1", cases[i].typed);
        snprintf(says, sizeof says, "did you mean --%s?", cases[i].known);
        assert_int_equal(arguments(f, words, rest), HAWSER_BAD_OPTION);
        if (strstr(f->error.text, says) == NULL)
            fail_msg("%s: %s", words, f->error.text);
    }
    /* What is like nothing there is gets no suggestion; a flag that is taken back is found without its no. */
    assert_int_equal(arguments(f, "--frobnicate=1", rest), HAWSER_BAD_OPTION);
    assert_string_equal(f->error.text, "unknown option --frobnicate");
    assert_int_equal(arguments(f, "--no-intercpt", rest), HAWSER_BAD_OPTION);
    assert_string_equal(f->error.text, "unknown option --no-intercpt; did you mean --no-intercept?");
    char variable[] = "HAWSER_WORKRES=2";
    char *environment[] = {variable, NULL};
    assert_int_equal(hawser_options_environment(f->options, environment, &f->error), HAWSER_BAD_OPTION);
    assert_string_equal(f->error.text, "unknown environment variable HAWSER_WORKRES; did you mean HAWSER_WORKERS?");
    const char text[] = "\n# c\ntoll = 3\n";
    assert_int_equal(from_file(f, text, sizeof text - 1), HAWSER_BAD_OPTION);
    assert_non_null(strstr(f->error.text, ":3: unknown key 'toll'; did you mean 'tol'?"));
}

static void environment_is_read(void **state)
{
    fixture *f = *state;
    char a[] = "HAWSER_TIME_LIMIT=2m", b[] = "HAWSER_QUIET=yes", c[] = "HOME=/", d[] = "HAWSER_BINARY=x",
         e[] = "HAWSER_TEST_DATA=y", launch[] = "HAWSER_LAUNCH=fd:3", nodes[] = "HAWSER_NODES=4", capital[] = "HAWSER_C=0.5",
         library[] = "HAWSER_LIBRARY=/x/libhawser.so.0", python[] = "HAWSER_PYTHON_NODE=123";
    char *good[] = {a, b, c, d, e, launch, nodes, capital, library, python, NULL};
    assert_int_equal(hawser_options_environment(f->options, good, &f->error), HAWSER_OK);
    assert_true(hawser_options_number(f->options, "time-limit") == 120);
    assert_true(hawser_options_number(f->options, "C") == 0.5);
    assert_true(hawser_options_flag(f->options, "quiet"));
    const char *bad[] = {"HAWSER_TOL=x", "HAWSER_NONE=1",    "HAWSER_tol=0.1",   "HAWSER_TIME-LIMIT=3",
                         "HAWSER_=3",    "HAWSER_BINARYX=3", "HAWSER_LIBRARYX=3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char copy[64];
        snprintf(copy, sizeof copy, "%s", bad[i]);
        char *list[] = {copy, NULL};
        if (hawser_options_environment(f->options, list, &f->error) != HAWSER_BAD_OPTION)
            fail_msg("%s was taken", bad[i]);
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(bad[i], "="), bad[i]);
        assert_non_null(strstr(f->error.text, name));
    }
}

/* https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables */
static void variables_of_kubernetes_are_passed_over(void **state)
{
    fixture *f = *state;
    char *const passed[] = {"HAWSER_SERVICE_HOST=10.0.0.11",
                            "HAWSER_SERVICE_PORT=7000",
                            "HAWSER_SERVICE_PORT_HTTP_2=7000",
                            "HAWSER_PORT=tcp://10.0.0.11:7000",
                            "HAWSER_PORT_7000_TCP=tcp://10.0.0.11:7000",
                            "HAWSER_PORT_7000_TCP_PROTO=tcp",
                            "HAWSER_PORT_7000_TCP_PORT=7000",
                            "HAWSER_PORT_7000_TCP_ADDR=10.0.0.11",
                            "HAWSER_PORT_53_UDP_ADDR=10.0.0.11",
                            "HAWSER_TOL_STORE_SERVICE_HOST=10.0.0.12",
                            "HAWSER_STORE_2_SERVICE_PORT=7001",
                            "HAWSER_STORE_PORT=sctp://10.0.0.12:7001",
                            "HAWSER_STORE_PORT_7001_SCTP=sctp://10.0.0.12:7001",
                            "HAWSER_PORT_PORT=udp://[fd00::1]:7",
                            NULL};
    assert_int_equal(hawser_options_environment(f->options, passed, &f->error), HAWSER_OK);
    char *const refused[] = {"HAWSER_PORT=7000",           "HAWSER_PORT=http://x",       "HAWSER_STORE_PORT=7000",
                             "HAWSER_SERVICE_HOSTS=x",     "HAWSER_SERVICE=tcp://x",     "HAWSER_SERVICE_PORTS=7000",
                             "HAWSER_PORT_TCP=tcp://x",    "HAWSER_PORT_7000=tcp://x",   "HAWSER_PORT_7000_TCPS=tcp://x",
                             "HAWSER_PORT_7000_TCP_X=tcp", "HAWSER_XSERVICE_HOST=x",     "HAWSER_PORT_7O_TCP_PORT=7",
                             "HAWSER_TOLL=tcp://x",        "HAWSER_MYPORT=tcp://x:7000", "HAWSER_service_host=x"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (hawser_options_environment(f->options, (char *[]){refused[i], NULL}, &f->error) != HAWSER_BAD_OPTION)
            fail_msg("%s was accepted", refused[i]);
}

static void arguments_leave_positional_words(void **state)
{
    fixture *f = *state;
    char rest[300];
    assert_int_equal(arguments(f, "train --tol 0.5 lasso --no-intercept - --sync=ssp:3 -qo m.st -k4 data -- --tol -x", rest),
                     HAWSER_OK);
    assert_string_equal(rest, "train lasso - data --tol -x");
    assert_true(hawser_options_number(f->options, "tol") == 0.5);
    assert_false(hawser_options_flag(f->options, "intercept"));
    assert_string_equal(hawser_options_text(f->options, "sync"), "ssp:3");
    assert_true(hawser_options_flag(f->options, "quiet"));
    assert_string_equal(hawser_options_text(f->options, "output"), "m.st");
    assert_int_equal(hawser_options_integer(f->options, "workers"), 4);
    assert_int_equal(arguments(f, "--seed -5 --intercept --quiet=no --note --a=b -vqom --tol 0.1 --tol 0.2", rest),
                     HAWSER_OK);
    assert_string_equal(rest, "");
    assert_int_equal(hawser_options_integer(f->options, "seed"), -5);
    assert_true(hawser_options_flag(f->options, "intercept") && hawser_options_flag(f->options, "verbose"));
    assert_string_equal(hawser_options_text(f->options, "note"), "--a=b");
    assert_string_equal(hawser_options_text(f->options, "output"), "m");
    assert_true(hawser_options_number(f->options, "tol") == 0.2); /* the last one counts */
}

static void files_of_several_states_may_be_given_one_by_one(void **state)
{
    static const hawser_option files[] = {{"init", HAWSER_PATH, NULL, NULL, HW_BY_STATE "FILE", "start", NULL, 0}, {0}};
    const hawser_option *const own[] = {files, NULL};
    hawser_options *options = NULL;
    hawser_error error = {0};
    (void)state;
    char *argv[] = {"x", "--init", "w=a,b.npy", "--init=v=c=d", "--init", "model", NULL};
    int argc = 6;
    assert_int_equal(hawser_options_new(own, &options, &error), HAWSER_OK);
    assert_int_equal(hawser_options_arguments(options, &argc, argv, &error), HAWSER_OK);
    assert_string_equal(hawser_options_text(options, "init"), "model,w=a,b.npy,v=c=d");
    static const char *const says[] = {":model", "w:a,b.npy", "v:c=d"};
    const char *rest = hawser_options_text(options, "init");
    for (size_t i = 0; i < 3; i++) {
        hw_option_path item;
        char text[40];
        assert_true(hw_option_next_path(&rest, &item));
        (void)snprintf(text, sizeof text, "%.*s:%.*s", (int)item.state_length, item.state, (int)item.path_length, item.path);
        assert_string_equal(text, says[i]);
    }
    assert_string_equal(rest, "");
    assert_int_equal(hawser_options_set(options, "init", "w=a,w=b", HAWSER_FROM_COMMAND_LINE, "--init", &error),
                     HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "names two files for state w"));
    hawser_options_free(options);
}

static void bad_arguments_are_refused(void **state)
{
    fixture *f = *state;
    char rest[300];
    const struct {
        const char *words, *says;
    } cases[] = {{"--tol", "--tol needs a value (TOL)"},
                 {"-o", "--output needs a value (FILE)"},
                 {"--tol --quiet", "--tol needs a value (TOL), but '--quiet' behind it is an option"},
                 {"-o --tol=0.5", "a value that begins so is written --output=--tol=0.5"},
                 {"--note --no-quiet", "'--no-quiet' behind it is an option"},
                 {"-z", "unknown option -z"},
                 {"-qz", "unknown option -z"},
                 {"--no-tol", "unknown option --no-tol"},
                 {"--no-quiet=yes", "takes no value"},
                 {"--quiet=perhaps", "--quiet: 'perhaps'"},
                 {"--workers two", "--workers: 'two' is not a whole number"},
                 {"--=3", "unknown option --"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(arguments(f, cases[i].words, rest), HAWSER_BAD_OPTION);
        if (strstr(f->error.text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].words, f->error.text);
    }
    char words[200] = "--";
    memset(words + 2, 'x', 150);
    assert_int_equal(arguments(f, words, rest), HAWSER_BAD_OPTION);
}

static void files_are_read_line_by_line(void **state)
{
    fixture *f = *state;
    const char good[] = "# a run\r\n\r\n  tol=0.5  # half\r\nnote = a # b\n output = x#y \nquiet = yes";
    assert_int_equal(from_file(f, good, sizeof good - 1), HAWSER_OK);
    assert_true(hawser_options_number(f->options, "tol") == 0.5);
    assert_string_equal(hawser_options_text(f->options, "note"), "a");
    assert_string_equal(hawser_options_text(f->options, "output"), "x#y");
    assert_true(hawser_options_flag(f->options, "quiet"));
    const struct {
        const char *text, *says;
        size_t length;
    } cases[] = {{"tol = 0.1\nseed 4\n", ":2: 'seed 4' is not of the form key = value", 0},
                 {"= 4\n", ":1: '= 4' is not of the form", 0},
                 {"\n\ntol = 4\n", ":3: tol: '4' is not within (0,1]", 0},
                 {"seed = 1\0 2\n", ":1: a zero byte", 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = cases[i].length != 0 ? cases[i].length : strlen(cases[i].text);
        assert_int_equal(from_file(f, cases[i].text, length), HAWSER_BAD_OPTION);
        if (strstr(f->error.text, cases[i].says) == NULL)
            fail_msg("%s", f->error.text);
    }
    assert_int_equal(hawser_options_file(f->options, "/nonexistent/run.conf", &f->error), HAWSER_IO);
    assert_non_null(strstr(f->error.text, "/nonexistent/run.conf"));
    assert_int_equal(hawser_options_file(f->options, "/tmp", &f->error), HAWSER_IO);
}

static void wrong_reads_give_nothing(void **state)
{
    fixture *f = *state;
    size_t count = 9;
    assert_true(hawser_options_number(f->options, "seed") == 0);
    assert_true(hawser_options_number(f->options, "time-limit") == 0);
    assert_int_equal(hawser_options_integer(f->options, "tol"), 0);
    assert_true(hawser_options_bytes(f->options, "absent") == 0);
    assert_false(hawser_options_flag(f->options, "tol"));
    assert_null(hawser_options_numbers(f->options, "tol", &count));
    assert_int_equal(count, 0);
    const char *where = "x";
    assert_int_equal(hawser_options_source(f->options, "absent", &where), HAWSER_FROM_DEFAULT);
    assert_null(where);
    assert_null(hawser_options_row(f->options, 1000));
}

static void invalid_option_rows_are_internal_errors(void **state)
{
    (void)state;
    static const hawser_option end = {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0};
    const struct {
        hawser_option row;
        const char *says;
    } cases[] = {{{"tol", HAWSER_NUMBER, NULL, NULL, "T", "", "", 0}, "two option rows"},
                 {{"other", HAWSER_FLAG, NULL, NULL, NULL, "", "", 'q'}, "one letter"},
                 {{"one", HAWSER_NUMBER, "2", "[0,1]", "T", "", "", 0}, "default '2'"},
                 {{"two", HAWSER_NUMBER, NULL, "[1,0]", "T", "", "", 0}, "bounds"},
                 {{"three", HAWSER_NUMBER, NULL, "0..1", "T", "", "", 0}, "bounds"},
                 {{"four", HAWSER_WORD, NULL, NULL, "T", "", "", 0}, "bounds"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hawser_option table[2] = {cases[i].row, end};
        const hawser_option *const list[] = {rows, table, NULL};
        hawser_options *options = NULL;
        hawser_error error;
        assert_int_equal(hawser_options_new(list, &options, &error), HAWSER_INTERNAL);
        assert_null(options);
        if (strstr(error.text, cases[i].says) == NULL)
            fail_msg("%s", error.text);
    }
}

/* Independent reference: plain recursion over the definition. */
static size_t slow(const char *a, size_t n, const char *b, size_t m)
{
    if (n == 0 || m == 0)
        return n + m;
    size_t best = slow(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
    size_t other = slow(a, n - 1, b, m) + 1;
    best = other < best ? other : best;
    other = slow(a, n, b, m - 1) + 1;
    best = other < best ? other : best;
    if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
        other = slow(a, n - 2, b, m - 2) + 1;
        best = other < best ? other : best;
    }
    return best;
}

static void distance_equals_its_definition(void **state)
{
    (void)state;
    const char *words[] = {"", "a", "ab", "ba", "abc", "acb", "tol", "toll", "lot", "syn", "snyc", "sync", "bsp"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t j = 0; j < sizeof words / sizeof *words; j++)
            assert_int_equal(hw_distance(words[i], words[j]), slow(words[i], strlen(words[i]), words[j], strlen(words[j])));
    assert_int_equal(hw_distance_typed("exch", "exchange-every"), 0);
    assert_int_equal(hw_distance_typed("sync", "sync"), 0);
    assert_int_equal(hw_distance_typed("c", "C"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(defaults_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(auto_stands_for_a_value_that_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(every_kind_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_values_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(stronger_sources_win, setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_is_named_as_it_was_given, setup, teardown),
        cmocka_unit_test_setup_teardown(real_sources_win_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_keys_name_the_nearest, setup, teardown),
        cmocka_unit_test_setup_teardown(environment_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(variables_of_kubernetes_are_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(arguments_leave_positional_words, setup, teardown),
        cmocka_unit_test(files_of_several_states_may_be_given_one_by_one),
        cmocka_unit_test_setup_teardown(bad_arguments_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(files_are_read_line_by_line, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_reads_give_nothing, setup, teardown),
        cmocka_unit_test(invalid_option_rows_are_internal_errors),
        cmocka_unit_test(distance_equals_its_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
