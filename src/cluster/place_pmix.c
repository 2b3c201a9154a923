/* place_pmix.c - Open MPI's mpirun and srun --mpi=pmix. The library is loaded only if its environment exists, so a Hawser
 * that was built with it also runs without it. */
#include "cluster/place.h"

#ifndef HAWSER_PMIX

/* Without PMIx, place.c reports what is missing if several processes were started. */
hawser_status hw_place_pmix(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    (void)options;
    (void)place;
    (void)error;
    return HAWSER_OK;
}

#else

#include <dlfcn.h>
#include <fcntl.h>
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { MEETING_SECONDS = 60 };

typedef struct store {
    void *library;
    pmix_proc_t self;
    int end[2]; /* the writing end closes when mpirun is gone */
    pmix_status_t (*init)(pmix_proc_t *proc, pmix_info_t info[], size_t count);
    pmix_status_t (*finalize)(const pmix_info_t info[], size_t count);
    pmix_status_t (*put)(pmix_scope_t scope, const char key[], pmix_value_t *value);
    pmix_status_t (*commit)(void);
    pmix_status_t (*fence)(const pmix_proc_t procs[], size_t procs_count, const pmix_info_t info[], size_t count);
    pmix_status_t (*get)(const pmix_proc_t *proc, const char key[], const pmix_info_t info[], size_t count,
                         pmix_value_t **value);
    const char *(*text)(pmix_status_t status);
    pmix_status_t (*listen)(pmix_status_t codes[], size_t code_count, pmix_info_t info[], size_t count,
                            pmix_notification_fn_t handler, pmix_hdlr_reg_cbfunc_t done, void *argument);
} store;

static hawser_status load(store *it, hawser_error *error)
{
    const struct {
        const char *name;
        void *at;
    } wanted[] = {{"PMIx_Init", &it->init},         {"PMIx_Finalize", &it->finalize},
                  {"PMIx_Put", &it->put},           {"PMIx_Commit", &it->commit},
                  {"PMIx_Fence", &it->fence},       {"PMIx_Get", &it->get},
                  {"PMIx_Error_string", &it->text}, {"PMIx_Register_event_handler", &it->listen}};
    it->library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (it->library == NULL)
        return hawser_fail(error, HAWSER_IO, "PMIX_RANK is set, but PMIx cannot be loaded: %s; install it (libpmix2)",
                           dlerror());
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(it->library, wanted[i].name);
        if (found == NULL)
            return hawser_fail(error, HAWSER_IO, "PMIx has no %s: %s", wanted[i].name, dlerror());
        memcpy(wanted[i].at, &found, sizeof found);
    }
    return HAWSER_OK;
}

static hawser_status failed(const store *it, const char *what, pmix_status_t code, hawser_error *error)
{
    return hawser_fail(error, HAWSER_PEER_LOST, "PMIx could not %s: %s (%d)", what, it->text(code), code);
}

static pmix_proc_t process(const store *it, pmix_rank_t rank)
{
    pmix_proc_t proc;
    memset(&proc, 0, sizeof proc);
    memcpy(proc.nspace, it->self.nspace, sizeof proc.nspace);
    proc.rank = rank;
    return proc;
}

static void name_info(pmix_info_t *info, const char *key)
{
    memset(info, 0, sizeof *info);
    snprintf(info->key, sizeof info->key, "%s", key);
}

/* Commits and waits until all have committed; then each process can read the values of all. */
static hawser_status meet(const store *it, double seconds, hawser_error *error)
{
    pmix_info_t info[2];
    pmix_proc_t all = process(it, PMIX_RANK_WILDCARD);
    name_info(&info[0], PMIX_COLLECT_DATA);
    info[0].value.type = PMIX_BOOL;
    info[0].value.data.flag = true;
    name_info(&info[1], PMIX_TIMEOUT);
    info[1].value.type = PMIX_INT;
    info[1].value.data.integer = (int)seconds + 1;
    pmix_status_t code = it->commit();
    if (code == PMIX_SUCCESS)
        code = it->fence(&all, 1, info, 2);
    return code == PMIX_SUCCESS ? HAWSER_OK : failed(it, "bring the nodes together", code, error);
}

static hawser_status put(const store *it, const char *key, char *text, hawser_error *error)
{
    pmix_value_t value;
    memset(&value, 0, sizeof value);
    value.type = PMIX_STRING;
    value.data.string = text;
    pmix_status_t code = it->put(PMIX_GLOBAL, key, &value);
    return code == PMIX_SUCCESS ? HAWSER_OK : failed(it, "keep what node 0 says", code, error);
}

static hawser_status get_text(const store *it, const char *key, char *text, size_t size, hawser_error *error)
{
    pmix_value_t *value = NULL;
    pmix_proc_t first = process(it, 0);
    pmix_status_t code = it->get(&first, key, NULL, 0, &value);
    if (code != PMIX_SUCCESS)
        return failed(it, "find what node 0 says", code, error);
    bool fits = value->type == PMIX_STRING && value->data.string != NULL && strlen(value->data.string) < size;
    if (fits)
        snprintf(text, size, "%s", value->data.string);
    if (value->type == PMIX_STRING)
        free(value->data.string);
    free(value);
    return fits ? HAWSER_OK : hawser_fail(error, HAWSER_PEER_LOST, "PMIx keeps something else than a text under %s", key);
}

static bool get_count(const store *it, const char *key, uint32_t *count)
{
    pmix_value_t *value = NULL;
    pmix_proc_t all = process(it, PMIX_RANK_WILDCARD);
    if (it->get(&all, key, NULL, 0, &value) != PMIX_SUCCESS)
        return false;
    bool right = value->type == PMIX_UINT32;
    *count = right ? value->data.uint32 : 0;
    free(value);
    return right;
}

static hawser_status publish(hw_place *place, const char *address, hawser_error *error)
{
    char text[HW_NET_ADDRESS];
    snprintf(text, sizeof text, "%s", address);
    HAWSER_TRY(put(place->state, "hawser.address", text, error));
    return meet(place->state, MEETING_SECONDS, error);
}

static hawser_status fetch(hw_place *place, double seconds, char address[HW_NET_ADDRESS], hawser_error *error)
{
    HAWSER_TRY(meet(place->state, seconds, error));
    return get_text(place->state, "hawser.address", address, HW_NET_ADDRESS, error);
}

/* The library is not unloaded: its threads may outlive PMIx_Finalize for a moment, and the program may use it, too. */
static void close_place(hw_place *place)
{
    store *it = place->state;
    if (it == NULL)
        return;
    if (it->self.nspace[0] != '\0')
        (void)it->finalize(NULL, 0);
    for (int i = 0; i < 2; i++)
        if (it->end[i] >= 0)
            (void)close(it->end[i]);
    place->lifeline = -1;
    free(it);
    place->state = NULL;
}

/* Called when mpirun is gone. Finds the pipe's writing end by the object that was registered with the handler. */
static void lost(size_t id, pmix_status_t code, const pmix_proc_t *source, pmix_info_t info[], size_t count,
                 pmix_info_t *results, size_t result_count, pmix_event_notification_cbfunc_fn_t done, void *argument)
{
    (void)id, (void)code, (void)source, (void)results, (void)result_count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(info[i].key, PMIX_EVENT_RETURN_OBJECT) == 0 && info[i].value.type == PMIX_POINTER) {
            store *it = info[i].value.data.ptr;
            (void)dup3(it->end[0], it->end[1], O_CLOEXEC); /* no writing end is left, so the lifeline ends */
        }
    if (done != NULL)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, argument);
}

static void watch(store *it, hw_place *place)
{
    pmix_status_t codes[] = {PMIX_ERR_LOST_CONNECTION};
    pmix_info_t info;
    if (pipe2(it->end, O_CLOEXEC) != 0)
        return;
    name_info(&info, PMIX_EVENT_RETURN_OBJECT);
    info.value.type = PMIX_POINTER;
    info.value.data.ptr = it;
    if (it->listen(codes, 1, &info, 1, lost, NULL, NULL) >= 0)
        place->lifeline = it->end[0];
}

static hawser_status exchange_key(hw_place *place, hawser_error *error)
{
    char text[2 * HW_NET_KEY_MOST + 1];
    if (place->node == 0) {
        HAWSER_TRY(hw_key_make(place->key, error));
        place->key_length = 32;
        hw_key_text(place->key, place->key_length, text);
        HAWSER_TRY(put(place->state, "hawser.key", text, error));
    }
    HAWSER_TRY(meet(place->state, MEETING_SECONDS, error));
    HAWSER_TRY(get_text(place->state, "hawser.key", text, sizeof text, error));
    hawser_status status = hw_key_parse(text, strlen(text), place->key, &place->key_length, error);
    explicit_bzero(text, sizeof text);
    return status;
}

hawser_status hw_place_pmix(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    static const hw_place_ops ops = {"PMIx", publish, fetch, NULL, NULL, close_place};
    if (hw_variable(options->environment, "PMIX_RANK") == NULL ||
        hw_variable(options->environment, "PMIX_NAMESPACE") == NULL)
        return HAWSER_OK;
    store *it = NULL;
    uint32_t nodes = 0, local = 0;
    HAWSER_TRY(HW_NEW(&it, 1, "PMIx", error));
    it->end[0] = it->end[1] = -1;
    place->state = it;
    place->ops = &ops;
    HAWSER_TRY(load(it, error));
    sigset_t all, before; /* the library's threads must not take signals */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pmix_status_t code = it->init(&it->self, NULL, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != PMIX_SUCCESS) {
        it->self.nspace[0] = '\0';
        return failed(it, "reach the launcher that set PMIX_RANK", code, error);
    }
    if (!get_count(it, PMIX_JOB_SIZE, &nodes) || nodes > HW_PLACE_NODES_MOST)
        return hawser_fail(error, HAWSER_PEER_LOST, "PMIx does not say how many processes the job has");
    if (nodes == 1) {
        close_place(place);
        place->ops = NULL;
        return HAWSER_OK;
    }
    place->node = it->self.rank;
    place->nodes = nodes;
    place->local = get_count(it, PMIX_LOCAL_SIZE, &local) && local == nodes;
    snprintf(place->job, sizeof place->job, "%.60s", it->self.nspace);
    watch(it, place);
    return exchange_key(place, error);
}

#endif
