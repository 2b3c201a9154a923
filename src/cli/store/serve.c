/* serve.c - hawser serve: runs stand-alone servers of a store. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/store/store.h"
#include "cluster/place.h"
#include "report/option_text.h"

const hawser_option *hw_serve_rows(void)
{
    static const hawser_option rows[] = {
        {"key-file", HAWSER_PATH, NULL, NULL, "FILE",
         "file with the key that clients must prove, mode 0600 ('hawser key FILE' makes one); the same on every server",
         NULL, 0},
        {"port-range", HAWSER_TEXT, NULL, NULL, "LOW-HIGH", "ports to listen on; default: the system's choice", NULL, 0},
        {"interface", HAWSER_TEXT, NULL, NULL, "NAME",
         "network interface or address to listen on, or all; default: loopback and the address of the default route", NULL,
         0},
        {"address-file", HAWSER_PATH, NULL, NULL, "FILE", "write HOST:PORT to this file when clients can connect", NULL, 0},
        {"load", HAWSER_PATH, NULL, NULL, "FILE", "start with the tables of this file, which a store has saved", NULL, 0},
        {"output", HAWSER_PATH, NULL, NULL, "FILE",
         "save all tables to this file at the end; if that fails (a full disk), servers keep them and try again until it "
         "works",
         NULL, 'o'},
        {"dir", HAWSER_PATH, ".", NULL, "DIR", "directory of the files that 'hawser store save' and 'load' name", NULL, 0},
        {"threads", HAWSER_INTEGER, "0", "[0,4096]", "N", "threads that serve; 0: one per processor, at most 4", NULL, 0},
        {"memory-limit", HAWSER_BYTES, NULL, "[1M,8E)", "BYTES",
         "memory of the tables of this server; tables and rows that need more are refused; if unset, what the machine and "
         "its "
         "cgroup have free, divided among the servers of the host",
         NULL, 0},
        {"trust-fabric", HAWSER_FLAG, "no", NULL, NULL, "do not encrypt links between hosts; clients still prove the key",
         NULL, 0},
        {"failure-timeout", HAWSER_SECONDS, "5", "[0.2,3600]", "TIME",
         "time without a message after which a client or another server is lost", NULL, 0},
        {"join-timeout", HAWSER_SECONDS, "60", "[0.1,86400]", "TIME", "how long to wait until all servers have joined", NULL,
         0},
        {"rate", HAWSER_BYTES, "0", NULL, "BYTES",
         "bytes that this server may send to clients per second, and as many to other servers; 0: no limit", NULL, 0},
        {"node-name", HAWSER_TEXT, NULL, NULL, "NAME", "name of this server in messages; default: its host's name", NULL, 0},
        {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print only errors on standard error", NULL, 'q'},
        {0},
    };
    return rows;
}

typedef struct serving {
    hw_call *call;
    hawser_job *job;
    bool unsaved;         /* the line about tables that cannot be written was printed */
    hawser_status status; /* of printing the address */
    hawser_error error;
} serving;

/* Prints the address as one line on standard output, for scripts that start clients. */
static void print_address(void *argument, const char *address)
{
    serving *s = argument;
    fprintf(s->call->out, "%s\n", address);
    if (fflush(s->call->out) != 0) {
        s->status = hawser_fail(&s->error, HAWSER_IO, "cannot write to standard output: disk full or pipe closed");
        hawser_interrupt(s->job);
    } else if (!hawser_options_flag(s->call->options, "quiet")) {
        hw_say(s->call->err, "%u %s at %s; Ctrl-C or SIGTERM ends", hawser_job_nodes(s->job),
               hawser_job_nodes(s->job) == 1 ? "server" : "servers", address);
    }
}

static void listening(void *argument, const char *addresses)
{
    const serving *s = argument;
    hw_say(s->call->err, "listening on %s (--interface chooses)", addresses);
}

/* Printed once, also with --quiet: the tables are in memory only. */
static bool unsaved(void *argument, const char *text)
{
    serving *s = argument;
    if (!s->unsaved)
        hw_say(s->call->err,
               "%s; the servers keep the tables and try until they can be written, once more (Ctrl-C or SIGTERM) "
               "ends without them",
               text);
    s->unsaved = true;
    return true;
}

/* Printed once, also with --quiet: the file that is written in the end lacks these rows. */
static void damaged(void *argument, const char *text)
{
    const serving *s = argument;
    hw_say(s->call->err, "%s", text);
}

static void warn(void *argument, const char *text)
{
    const serving *s = argument;
    hw_say(s->call->err, "%s", text);
}

/* Returns the key of the job or data option that the variable is about and servers do not have; NULL: none. */
static const char *key_of_other_command(const hw_call *call, const char *variable)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hawser_data_rows()}, *row;
    const char *found = NULL;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (row = tables[t]; row->key != NULL; row++)
            if (hw_help_variable_is(row->key, variable))
                found = row->key;
    for (size_t i = 0; found != NULL && (row = hawser_options_row(call->options, i)) != NULL; i++)
        if (strcmp(row->key, found) == 0)
            return NULL;
    return found;
}

/* Lists the variables that programs and other commands use and servers do not, once. HAWSER_RECORD_HISTORY is refused,
 * because its user relies on the history. */
static hawser_status check_environment(const hw_call *call, hawser_error *error)
{
    char names[300] = "";
    size_t used = 0;
    for (char *const *variable = call->environment; variable != NULL && *variable != NULL; variable++) {
        const char *key = key_of_other_command(call, *variable);
        size_t length = strcspn(*variable, "=");
        /* An empty variable counts as unset. */
        if (key == NULL || (*variable)[length] == '\0' || (*variable)[length + 1] == '\0')
            continue;
        if (strcmp(key, "record-history") == 0)
            return hawser_fail(
                error, HAWSER_BAD_OPTION,
                "HAWSER_RECORD_HISTORY: a history is of a store within a job, and stand-alone servers keep none; unset it");
        if (used + length + 3 < sizeof names)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", used > 0 ? ", " : "", (int)length, *variable);
    }
    if (used > 0 && !hawser_options_flag(call->options, "quiet"))
        hw_say(call->err, "%s: 'hawser serve' has no such option, and passes it over", names);
    return HAWSER_OK;
}

static hawser_status check_paths(const hw_call *call, hawser_error *error)
{
    struct stat facts;
    const char *directory = hawser_options_text(call->options, "dir");
    if (stat(directory, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return hawser_fail(error, HAWSER_IO, "dir = '%s' is no directory", directory);
    HAWSER_TRY(hw_check_outputs(call, error));
    HAWSER_TRY(hw_check_writable(hw_path_of(call, "output"), error));
    const char *address = hw_path_of(call, "address-file");
    HAWSER_TRY(hw_check_writable(address, error));
    if (address != NULL)
        /* Left by an earlier run; a script that waits for the file would read the old port while the servers join. */
        (void)unlink(address);
    return HAWSER_OK;
}

static hawser_status serve(serving *s, hawser_error *error)
{
    const hw_call *call = s->call;
    hawser_store *store = NULL;
    hw_interrupt_begin(call->interrupt, s->job, "the servers end");
    const hawser_store_options options = {.threads = (uint32_t)hawser_options_integer(call->options, "threads")};
    const hawser_serving how = {.key_file = hawser_options_text(call->options, "key-file"),
                                .address_file = hw_path_of(call, "address-file"),
                                .directory = hawser_options_text(call->options, "dir"),
                                .load = hw_path_of(call, "load"),
                                .save = hw_path_of(call, "output"),
                                .ready = print_address,
                                .listening = hawser_options_flag(call->options, "quiet") ? NULL : listening,
                                .unsaved = unsaved,
                                .damaged = damaged,
                                .argument = s,
                                .warn = hawser_options_flag(call->options, "quiet") ? NULL : warn};
    hawser_status status = hawser_store_open(s->job, &options, &store, error);
    HAWSER_THEN(status, hawser_store_serve(store, &how, error));
    hawser_store_close(store);
    hw_interrupt_end(call->interrupt);
    return status == HAWSER_OK && s->status != HAWSER_OK ? hawser_fail(error, s->status, "%s", s->error.text) : status;
}

hawser_status hw_serve(hw_call *call, hawser_error *error)
{
    unsigned char key[HW_NET_KEY_MOST];
    size_t length = 0;
    hawser_options *options = NULL;
    serving s = {.call = call};
    if (!hw_interrupt_has_terminal())
        hw_interrupt_pass_over_hangups(call->interrupt);
    hw_interrupt_words(call->interrupt, "before the servers began; no file is written");
    if (!hawser_options_has(call->options, "key-file"))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "clients prove themselves by a key: give --key-file FILE ('hawser key FILE' makes one)");
    /* Errors of this node alone are reported before it joins others. */
    hawser_status status = hw_key_read(hawser_options_text(call->options, "key-file"), key, &length, error);
    explicit_bzero(key, sizeof key);
    HAWSER_TRY(status);
    HAWSER_TRY(check_environment(call, error));
    HAWSER_TRY(check_paths(call, error));
    HAWSER_TRY(hw_job_options(call, &options, error));
    status = hawser_open_options(options, &s.job, error);
    HAWSER_THEN(status, serve(&s, error));
    hawser_close(s.job);
    hawser_options_free(options);
    return status;
}
