/* The command as a whole, called within this process, with the n-th allocation failing: exit code 5 and one line, nothing
 * leaks, and an output is the whole new file or what was there before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "directory.h"
#include "failing.h"
#include "sanitized.h"

#ifdef __SANITIZE_THREAD__
enum { STRIDE = 397 }; /* trainings take ten times as long */
#else
enum { STRIDE = 71 };
#endif

enum { MOST_WORDS = 24, MOST_BYTES = 1 << 20 };

/* The file's bytes, their number in *size; -1: there is none. */
static void get_bytes(const char *path, char *bytes, long *size)
{
    FILE *file = fopen(path, "re");
    *size = -1;
    if (file == NULL)
        return;
    *size = (long)fread(bytes, 1, MOST_BYTES, file);
    assert_int_equal(fclose(file), 0);
}

/* Calls `hawser` with the words of `line`; output goes to the files out and err. */
static int call(const char *line, long fail)
{
    char text[600], *words[MOST_WORDS + 1] = {NULL}, *environment[] = {NULL}, *rest = NULL;
    int count = 0;
    snprintf(text, sizeof text, "hawser %s", line);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        assert_true(count < MOST_WORDS);
        words[count++] = word;
    }
    FILE *out = fopen("out", "we"), *err = fopen("err", "we");
    assert_true(out != NULL && err != NULL);
    atomic_store(&countdown, fail);
    int code = hw_cli_main(count, words, environment, out, err);
    bool happened = fail > 0 && atomic_load(&countdown) <= 0;
    atomic_store(&countdown, 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(fclose(err), 0);
    return happened || fail == 0 ? code : -code - 1; /* below 0: there are fewer allocations */
}

/* Every line that was said begins with the command's name; the last one is the failure. */
static void check_lines(const char *line, long n)
{
    char text[1000];
    size_t said = 0;
    FILE *file = fopen("err", "re");
    assert_non_null(file);
    while (fgets(text, sizeof text, file) != NULL) {
        if (strncmp(text, "hawser: ", 8) != 0 || strlen(text) < 20)
            fail_msg("%s, allocation %ld fails: %s", line, n, text);
        said++;
    }
    assert_int_equal(fclose(file), 0);
    if (said == 0)
        fail_msg("%s, allocation %ld fails: nothing was said", line, n);
}

/* No temporary file stays behind. */
static void check_directory(const char *line, long n)
{
    if (system("test -z \"$(ls -A | grep -vxE 'out|err|[a-z.]+[.](svm|csv|st|pred|svg|hwc|trace|log|w)')\"") != 0)
        fail_msg("%s, allocation %ld fails: %s", line, n, "a file was left behind");
}

static void fail_each(const char *line, const char *output)
{
    static char before[MOST_BYTES], after[MOST_BYTES];
    long before_size, after_size;
    assert_int_equal(call(line, 0), 0);
    get_bytes(output, before, &before_size);
    /* All of the first ones; further ones, which are a training's own, by strides that meet others in each call. */
    bool all = runs_long();
    for (long n = 1;; n += all || n < 100 ? 1 : STRIDE) {
        long alive = atomic_load(&live);
        int code = call(line, n);
        const long more = atomic_load(&live) - alive;
        /* Texts of plans, and the first lines of traces and logs, are the C library's, and are freed here. */
        bool texts = strncmp(line, "plan ", 5) == 0 || strstr(line, " --trace ") != NULL;
        if (more > 0 || (more < 0 && !texts))
            fail_msg("%s, allocation %ld fails: %ld pieces leak", line, n, more);
        if (code < 0) {
            assert_int_equal(code, -1);
            assert_true(n > 5);
            break;
        }
        if (code != HW_EXIT_MEMORY && system("cat err >&2") >= 0)
            fail_msg("%s, allocation %ld fails: exit code %d", line, n, code);
        check_lines(line, n);
        get_bytes(output, after, &after_size);
        if (after_size != before_size || (after_size > 0 && memcmp(before, after, (size_t)after_size) != 0))
            fail_msg("%s, allocation %ld fails: %s is another file", line, n, output);
        if (n % 50 == 1)
            check_directory(line, n);
    }
}

static void a_failed_allocation_is_exit_code_5(void **state)
{
    (void)state;
    put_file("s.svm", "1 1:1 9:2\n2 2:1 4:1\n3 1:2 4:-1\n4 2:3 9:1\n2.5 1:1 2:1\n");
    put_file("c.csv", "y,a,b,w\n1,2,3,1\n2,5,3,1\n3,7,1,2\n4,8,,1\n");
    put_file("i.w", "1\n1\n1\n1\n0\n");
    assert_int_equal(call("train lasso s.svm --index-base 1 --lambda 0.01 -q -o m.st", 0), 0);
    fail_each("train lasso s.svm --index-base 1 --lambda 0.01 --workers 2 --threads 1 --weights i.w --validation s.svm "
              "--init m.st "
              "-o n.st --plot p.svg",
              "n.st");
    fail_each("train lasso c.csv --missing mean --weights w --path 3 --workers 1 --threads 1 --log-view --trace t.trace "
              "--log-json e.log --json -o k.st",
              "k.st");
    fail_each("train lasso s.svm --index-base 1 --cv 2 --path 3 --sync ssp:1 --workers 2 --threads 1 -q -o v.st", "v.st");
    fail_each("plan lasso s.svm --index-base 1 --workers 2", "out.none");
    fail_each("predict m.st s.svm -o p.pred", "p.pred");
    fail_each("evaluate m.st s.svm --json", "out.none");
    fail_each("info m.st --coefficients", "out.none");
    fail_each("data info s.svm", "out.none");
    fail_each("data convert c.csv --missing zero -o d.hwc", "d.hwc");
    fail_each("data split s.svm --fraction 0.5 -o z", "z.test.svm");
    fail_each("data generate url --rows 20 --cols 30 -o g.svm", "g.svm");
}

/* The font library below the plots keeps its caches until the process ends. */
HAWSER_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\n";
}

/* Jansson's are counted alone: its parser goes on with half a token where it finds no memory for the rest. */
static void *counted_only(size_t bytes)
{
    return counted(__real_malloc(bytes));
}

int main(void)
{
    json_set_alloc_funcs(counted_only, __wrap_free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_failed_allocation_is_exit_code_5, make_directory, remove_directory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
