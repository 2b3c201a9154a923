/* serve.c - hawser serve: servers of a store that run on their own. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/store/store.h"
#include "cluster/place.h"
#include "runtime/job/enter.h"
#include "runtime/store/serve.h"

const hawser_option *hw_serve_rows(void)
{
    static const hawser_option rows[] = {
        {"key-file", HAWSER_PATH, NULL, NULL, "FILE",
         "file with the key that guests prove, readable by its owner alone ('hawser key FILE' makes one); on every server",
         "0.1", 0},
        {"port-range", HAWSER_TEXT, NULL, NULL, "LOW-HIGH", "ports to listen on; default: the system's choice", "0.1", 0},
        {"interface", HAWSER_TEXT, NULL, NULL, "NAME",
         "network interface or address that guests reach this server by; default: that of the default route", "0.1", 0},
        {"address-file", HAWSER_PATH, NULL, NULL, "FILE", "write HOST:PORT to this file once guests may come", "0.1", 0},
        {"load", HAWSER_PATH, NULL, NULL, "FILE", "begin with the tables of this file, which a store has saved", "0.1", 0},
        {"output", HAWSER_PATH, NULL, NULL, "FILE", "save all tables to this file in the end", "0.1", 'o'},
        {"dir", HAWSER_PATH, ".", NULL, "DIR", "where files lie that 'hawser store save' and 'load' name", "0.1", 0},
        {"threads", HAWSER_INTEGER, "0", "[0,4096]", "N", "that serve; 0: one for each processor, 4 at most", "0.1", 0},
        {"trust-fabric", HAWSER_FLAG, "no", NULL, NULL, "do not encrypt what travels between hosts; the key is still proved",
         "0.1", 0},
        {"failure-timeout", HAWSER_SECONDS, "5", "[0.2,3600]", "TIME",
         "silence after which a guest or another server counts as lost", "0.1", 0},
        {"join-timeout", HAWSER_SECONDS, "60", "[0.1,86400]", "TIME", "how long to wait until all servers are there", "0.1",
         0},
        {"node-name", HAWSER_TEXT, NULL, NULL, "NAME", "what others call this server; default: its host's name", "0.1", 0},
        {"quiet", HAWSER_FLAG, "no", NULL, NULL, "say nothing on standard error but errors", "0.1", 'q'},
        {0},
    };
    return rows;
}

typedef struct serving {
    hw_call *call;
    const char *address_file;
    hawser_job *job;
    hawser_status status; /* of telling where we are */
    hawser_error *error;
} serving;

/* Whoever starts guests reads this: one line on standard output, or a file that is there when it is whole. */
static void tell(void *argument, const char *address)
{
    serving *s = argument;
    hw_file file = {.fd = -1};
    fprintf(s->call->out, "%s\n", address);
    if (fflush(s->call->out) != 0)
        s->status = hawser_fail(s->error, HAWSER_IO, "cannot write to standard output: disk full or pipe closed");
    if (s->address_file != NULL && s->status == HAWSER_OK) {
        s->status = hw_file_begin(&file, s->address_file, s->error);
        if (s->status == HAWSER_OK)
            s->status = hw_file_print(&file, s->error, "%s\n", address);
        if (s->status == HAWSER_OK)
            s->status = hw_file_commit(&file, s->error);
        hw_file_abort(&file);
    }
    if (s->status != HAWSER_OK)
        hawser_interrupt(s->job);
    else if (!hawser_options_flag(s->call->options, "quiet"))
        fprintf(s->call->err, "hawser: %u %s at %s; Ctrl-C or SIGTERM ends\n", hawser_job_nodes(s->job),
                hawser_job_nodes(s->job) == 1 ? "server" : "servers", address);
}

static void warn(const char *text)
{
    fprintf(stderr, "hawser: %s\n", text);
}

static hawser_status check_paths(const hw_call *call, hawser_error *error)
{
    struct stat facts;
    const char *directory = hawser_options_text(call->options, "dir");
    if (stat(directory, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return hawser_fail(error, HAWSER_IO, "dir = '%s' is no directory", directory);
    HAWSER_TRY(hw_check_writable(hw_path_of(call, "output"), error));
    const char *address = hw_path_of(call, "address-file");
    HAWSER_TRY(hw_check_writable(address, error));
    if (address != NULL)
        (void)unlink(address); /* of an earlier run: who waits for it would read the old port */
    return HAWSER_OK;
}

static hawser_status serve(serving *s, const hw_serving *how, hawser_error *error)
{
    hawser_store *store = NULL;
    hw_interrupt interrupt;
    HAWSER_TRY(hw_interrupt_begin(&interrupt, s->job, s->call->err, "the servers end", error));
    const hawser_store_options options = {.threads = (uint32_t)hawser_options_integer(s->call->options, "threads")};
    hawser_status status = hawser_store_open(s->job, &options, &store, error);
    if (status == HAWSER_OK)
        status = hw_store_serve(store, how, error);
    hawser_store_close(store);
    hw_interrupt_end(&interrupt);
    return status == HAWSER_OK ? s->status : status;
}

static hawser_status run(hw_call *call, hawser_options **options, unsigned char key[HW_NET_KEY_MOST], serving *s,
                         hawser_error *error)
{
    hw_serving how = {.directory = hawser_options_text(call->options, "dir"),
                      .load = hw_path_of(call, "load"),
                      .save = hw_path_of(call, "output"),
                      .ready = tell,
                      .argument = s};
    if (!hawser_options_has(call->options, "key-file"))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "guests prove themselves by a key: give --key-file FILE ('hawser key FILE' makes one)");
    HAWSER_TRY(hw_key_read(hawser_options_text(call->options, "key-file"), key, &how.door.key_length, error));
    HAWSER_TRY(check_paths(call, error));
    HAWSER_TRY(hw_job_options(call, options, error));
    HAWSER_TRY(hawser_open_options(*options, &s->job, error));
    how.door.key = key;
    how.door.interface = hawser_options_text(call->options, "interface");
    how.door.trust_fabric = hawser_options_flag(call->options, "trust-fabric");
    how.door.failure_timeout = hawser_options_number(call->options, "failure-timeout");
    how.door.warn = hawser_options_flag(call->options, "quiet") ? NULL : warn;
    HAWSER_TRY(hw_read_ports(*options, &how.door.port_low, &how.door.port_high, error));
    return serve(s, &how, error);
}

hawser_status hw_serve(hw_call *call, hawser_error *error)
{
    unsigned char key[HW_NET_KEY_MOST] = {0};
    hawser_options *options = NULL;
    hawser_error telling = {0};
    serving s = {.call = call, .address_file = hw_path_of(call, "address-file"), .error = &telling};
    hawser_status status = run(call, &options, key, &s, error);
    if (status == s.status && status != HAWSER_OK && telling.text[0] != '\0')
        *error = telling;
    hawser_close(s.job);
    hawser_options_free(options);
    explicit_bzero(key, sizeof key);
    return status;
}
