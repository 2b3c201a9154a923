#include "transport/net/fabric.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#ifdef HAWSER_UCX

#include <dlfcn.h>
#include <signal.h>
#include <ucp/api/ucp.h>

enum {
    PIECE = 256 << 10, /* bytes of one UCX call */
    WINDOW = 2 << 20   /* bytes of an endpoint in flight; further ones wait in the link's queue */
};

/* The functions of UCX in use, by name. */
typedef struct calls {
    ucs_status_t (*config_read)(const char *, const char *, ucp_config_t **);
    ucs_status_t (*config_modify)(ucp_config_t *, const char *, const char *);
    void (*config_release)(ucp_config_t *);
    ucs_status_t (*init_version)(unsigned, unsigned, const ucp_params_t *, const ucp_config_t *, ucp_context_h *);
    void (*cleanup)(ucp_context_h);
    ucs_status_t (*worker_create)(ucp_context_h, const ucp_worker_params_t *, ucp_worker_h *);
    void (*worker_destroy)(ucp_worker_h);
    ucs_status_t (*worker_get_address)(ucp_worker_h, ucp_address_t **, size_t *);
    void (*worker_release_address)(ucp_worker_h, ucp_address_t *);
    ucs_status_t (*worker_get_efd)(ucp_worker_h, int *);
    ucs_status_t (*worker_arm)(ucp_worker_h);
    unsigned (*worker_progress)(ucp_worker_h);
    ucs_status_t (*ep_create)(ucp_worker_h, const ucp_ep_params_t *, ucp_ep_h *);
    ucs_status_ptr_t (*ep_close_nbx)(ucp_ep_h, const ucp_request_param_t *);
    ucs_status_ptr_t (*stream_send_nbx)(ucp_ep_h, const void *, size_t, const ucp_request_param_t *);
    ucs_status_ptr_t (*stream_recv_data_nb)(ucp_ep_h, size_t *);
    void (*stream_data_release)(ucp_ep_h, void *);
    ucs_status_t (*request_check_status)(void *);
    void (*request_free)(void *);
    const char *(*status_string)(ucs_status_t);
    ucs_status_t (*set_value)(const char *, const char *);
    void (*disable_signal)(int);
} calls;

struct hw_fabric {
    void *library, *services;
    calls ucx;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_length;
    int fd;
    hw_fabric_endpoint *endpoints;
};

/* A send buffer in flight. UCX reads it until it reports completion. */
typedef struct send_buffer {
    hw_fabric_endpoint *endpoint;
    size_t size;
    struct send_buffer *next; /* in the endpoint's list of reusable buffers */
    unsigned char bytes[];
} send_buffer;

struct hw_fabric_endpoint {
    hw_fabric *fabric;
    hw_fabric_endpoint *next, **place;
    ucp_ep_h handle;
    send_buffer *spare;
    size_t in_flight, unsent;
    unsigned char *came; /* the piece that is being read; UCX owns it */
    size_t came_size, came_done;
    bool broken, closed;
    void *closing; /* request of the close */
};

static hawser_status load(hw_fabric *self, hawser_error *error)
{
    calls *ucx = &self->ucx;
    const struct {
        const char *name;
        void *at;
        bool service;
    } wanted[] = {{"ucp_config_read", &ucx->config_read, false},
                  {"ucp_config_modify", &ucx->config_modify, false},
                  {"ucp_config_release", &ucx->config_release, false},
                  {"ucp_init_version", &ucx->init_version, false},
                  {"ucp_cleanup", &ucx->cleanup, false},
                  {"ucp_worker_create", &ucx->worker_create, false},
                  {"ucp_worker_destroy", &ucx->worker_destroy, false},
                  {"ucp_worker_get_address", &ucx->worker_get_address, false},
                  {"ucp_worker_release_address", &ucx->worker_release_address, false},
                  {"ucp_worker_get_efd", &ucx->worker_get_efd, false},
                  {"ucp_worker_arm", &ucx->worker_arm, false},
                  {"ucp_worker_progress", &ucx->worker_progress, false},
                  {"ucp_ep_create", &ucx->ep_create, false},
                  {"ucp_ep_close_nbx", &ucx->ep_close_nbx, false},
                  {"ucp_stream_send_nbx", &ucx->stream_send_nbx, false},
                  {"ucp_stream_recv_data_nb", &ucx->stream_recv_data_nb, false},
                  {"ucp_stream_data_release", &ucx->stream_data_release, false},
                  {"ucp_request_check_status", &ucx->request_check_status, false},
                  {"ucp_request_free", &ucx->request_free, false},
                  {"ucs_status_string", &ucx->status_string, true},
                  {"ucs_global_opts_set_value", &ucx->set_value, true},
                  {"ucs_debug_disable_signal", &ucx->disable_signal, true}};
    self->library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    self->services = self->library == NULL ? NULL : dlopen("libucs.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (self->services == NULL)
        return hawser_fail(error, HAWSER_IO,
                           "UCX is asked for (--transport ucx), but cannot be loaded: %s; install it (libucx0)", dlerror());
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(wanted[i].service ? self->services : self->library, wanted[i].name);
        if (found == NULL)
            return hawser_fail(error, HAWSER_IO, "UCX is asked for (--transport ucx), but has no %s: %s", wanted[i].name,
                               dlerror());
        memcpy(wanted[i].at, &found, sizeof found);
    }
    /* Signals and the terminal belong to the program, and Hawser reports UCX's errors. */
    const int faults[] = {SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGHUP};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        ucx->disable_signal(faults[i]);
    (void)ucx->set_value("LOG_LEVEL", "fatal");
    return HAWSER_OK;
}

static hawser_status failed(const hw_fabric *self, const char *what, ucs_status_t status, hawser_error *error)
{
    return hawser_fail(error, HAWSER_IO, "UCX could not %s: %s", what, self->ucx.status_string(status));
}

static hawser_status make_context(hw_fabric *self, bool trusted, hawser_error *error)
{
    const calls *ucx = &self->ucx;
    ucp_config_t *config;
    const char *const settings[][2] = {
        {"TLS", trusted ? "all" : "posix,sysv,cma,self"},
        /* otherwise UCX uses no memory transport for endpoints that must detect a peer's death */
        {"MM_ERROR_HANDLING", "y"},
        {"TX_SEG_SIZE", "64K"}, /* for TCP, where the default of 8 KiB is slow */
        {"RX_SEG_SIZE", "128K"},
        {"KEEPALIVE_INTERVAL", "inf"}, /* the link has its own heartbeats */
    };
    ucs_status_t status = ucx->config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return failed(self, "read its settings", status, error);
    for (size_t i = 0; i < sizeof settings / sizeof *settings && status == UCS_OK; i++) {
        if (i == 0 && trusted && getenv("UCX_TLS") != NULL)
            continue; /* a user that trusts the fabric may choose the transports */
        status = ucx->config_modify(config, settings[i][0], settings[i][1]);
    }
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                 .features = UCP_FEATURE_STREAM | UCP_FEATURE_WAKEUP};
    status = ucx->init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &self->context);
    ucx->config_release(config);
    return status == UCS_OK ? HAWSER_OK : failed(self, "begin", status, error);
}

static hawser_status make_worker(hw_fabric *self, hawser_error *error)
{
    const calls *ucx = &self->ucx;
    const ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucs_status_t status = ucx->worker_create(self->context, &params, &self->worker);
    if (status == UCS_OK)
        status = ucx->worker_get_address(self->worker, &self->address, &self->address_length);
    if (status == UCS_OK)
        status = ucx->worker_get_efd(self->worker, &self->fd);
    if (status != UCS_OK)
        return failed(self, "make a worker", status, error);
    if (self->address_length > HW_FABRIC_ADDRESS)
        return hawser_fail(error, HAWSER_IO,
                           "UCX has an address of %zu bytes here, more than %d; restrict it by UCX_NET_DEVICES",
                           self->address_length, HW_FABRIC_ADDRESS);
    return HAWSER_OK;
}

hawser_status hw_fabric_new(bool trusted, hw_fabric **out, hawser_error *error)
{
    hw_fabric *self = NULL;
    *out = NULL;
    HAWSER_TRY(HW_NEW(&self, 1, "a fabric", error));
    self->fd = -1;
    hawser_status status = load(self, error);
    HAWSER_THEN(status, make_context(self, trusted, error));
    HAWSER_THEN(status, make_worker(self, error));
    if (status != HAWSER_OK) {
        hw_fabric_free(self);
        return status;
    }
    *out = self;
    return HAWSER_OK;
}

const void *hw_fabric_address(const hw_fabric *fabric, size_t *length)
{
    *length = fabric->address_length;
    return fabric->address;
}

int hw_fabric_fd(const hw_fabric *fabric)
{
    return fabric->fd;
}

/* Frees the closed endpoints whose UCX handle and bytes UCX has released. */
static void bury(hw_fabric *self)
{
    for (hw_fabric_endpoint *endpoint = self->endpoints, *next; endpoint != NULL; endpoint = next) {
        next = endpoint->next;
        if (!endpoint->closed || endpoint->unsent > 0)
            continue;
        if (endpoint->closing != NULL) {
            if (self->ucx.request_check_status(endpoint->closing) == UCS_INPROGRESS)
                continue;
            self->ucx.request_free(endpoint->closing);
        }
        *endpoint->place = next;
        if (next != NULL)
            next->place = endpoint->place;
        for (send_buffer *one = endpoint->spare, *after; one != NULL; one = after) {
            after = one->next;
            free(one);
        }
        free(endpoint);
    }
}

bool hw_fabric_progress(hw_fabric *self)
{
    bool any = false;
    for (int i = 0; i < 64 && self->ucx.worker_progress(self->worker) != 0; i++)
        any = true;
    bury(self);
    return any;
}

bool hw_fabric_arm(hw_fabric *self)
{
    return self->ucx.worker_arm(self->worker) != UCS_ERR_BUSY;
}

void hw_fabric_free(hw_fabric *self)
{
    enum { TURNS = 100000 };
    if (self == NULL)
        return;
    for (hw_fabric_endpoint *endpoint = self->endpoints, *next; endpoint != NULL; endpoint = next) {
        next = endpoint->next;
        hw_fabric_close(endpoint);
    }
    for (int i = 0; i < TURNS && self->endpoints != NULL; i++)
        (void)hw_fabric_progress(self);
    if (self->address != NULL)
        self->ucx.worker_release_address(self->worker, self->address);
    if (self->worker != NULL)
        self->ucx.worker_destroy(self->worker);
    if (self->context != NULL)
        self->ucx.cleanup(self->context);
    if (self->services != NULL)
        dlclose(self->services);
    if (self->library != NULL)
        dlclose(self->library);
    free(self);
}

static void on_error(void *argument, ucp_ep_h handle, ucs_status_t status)
{
    (void)handle, (void)status;
    ((hw_fabric_endpoint *)argument)->broken = true;
}

hawser_status hw_fabric_open(hw_fabric *fabric, const void *address, hw_fabric_endpoint **out, hawser_error *error)
{
    hw_fabric_endpoint *endpoint = NULL;
    *out = NULL;
    HAWSER_TRY(HW_NEW(&endpoint, 1, "a UCX endpoint", error));
    const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                                                  UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
                                    .address = address,
                                    .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                                    .err_handler = {.cb = on_error, .arg = endpoint}};
    endpoint->fabric = fabric;
    ucs_status_t status = fabric->ucx.ep_create(fabric->worker, &params, &endpoint->handle);
    if (status != UCS_OK) {
        free(endpoint);
        return failed(fabric, "connect to the peer", status, error);
    }
    endpoint->next = fabric->endpoints;
    endpoint->place = &fabric->endpoints;
    if (endpoint->next != NULL)
        endpoint->next->place = &endpoint->next;
    fabric->endpoints = endpoint;
    *out = endpoint;
    return HAWSER_OK;
}

void hw_fabric_close(hw_fabric_endpoint *endpoint)
{
    if (endpoint == NULL || endpoint->closed)
        return;
    const calls *ucx = &endpoint->fabric->ucx;
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    if (endpoint->came != NULL)
        ucx->stream_data_release(endpoint->handle, endpoint->came);
    endpoint->came = NULL;
    endpoint->closed = true;
    void *request = ucx->ep_close_nbx(endpoint->handle, &param);
    endpoint->closing = UCS_PTR_IS_PTR(request) ? request : NULL;
}

static void on_sent(void *request, ucs_status_t status, void *argument)
{
    send_buffer *one = argument;
    hw_fabric_endpoint *endpoint = one->endpoint;
    endpoint->broken |= status != UCS_OK;
    endpoint->in_flight -= one->size;
    endpoint->unsent--;
    one->next = endpoint->spare;
    endpoint->spare = one;
    if (request != NULL)
        endpoint->fabric->ucx.request_free(request);
}

static send_buffer *take_buffer(hw_fabric_endpoint *endpoint)
{
    send_buffer *one = endpoint->spare;
    if (one != NULL)
        endpoint->spare = one->next;
    else
        one = malloc(sizeof *one + PIECE);
    return one;
}

static size_t gather(unsigned char *to, size_t space, const struct iovec *pieces, int count)
{
    size_t size = 0;
    for (int i = 0; i < count && size < space; i++) {
        size_t part = pieces[i].iov_len < space - size ? pieces[i].iov_len : space - size;
        memcpy(to + size, pieces[i].iov_base, part);
        size += part;
    }
    return size;
}

ssize_t hw_fabric_write(hw_fabric_endpoint *endpoint, const struct iovec *pieces, int count)
{
    if (endpoint->broken)
        return HW_FABRIC_BROKEN;
    if (endpoint->in_flight >= WINDOW)
        return 0;
    send_buffer *one = take_buffer(endpoint);
    if (one == NULL)
        return endpoint->unsent > 0 ? 0 : HW_FABRIC_BROKEN; /* wait until other buffers have returned */
    one->endpoint = endpoint;
    one->size = gather(one->bytes, PIECE, pieces, count);
    endpoint->in_flight += one->size;
    endpoint->unsent++;
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA, .cb.send = on_sent, .user_data = one};
    size_t size = one->size;
    void *request = endpoint->fabric->ucx.stream_send_nbx(endpoint->handle, one->bytes, one->size, &param);
    if (!UCS_PTR_IS_PTR(request))
        on_sent(NULL, UCS_PTR_STATUS(request), one);
    if (endpoint->broken)
        return HW_FABRIC_BROKEN;
    return (ssize_t)size;
}

/* Takes the next piece that has arrived. Returns false if there is none. */
static bool next_piece(hw_fabric_endpoint *endpoint)
{
    if (endpoint->came != NULL)
        return true;
    size_t size = 0;
    void *data = endpoint->fabric->ucx.stream_recv_data_nb(endpoint->handle, &size);
    endpoint->broken |= UCS_PTR_IS_ERR(data);
    if (!UCS_PTR_IS_PTR(data))
        return false;
    endpoint->came = data;
    endpoint->came_size = size;
    endpoint->came_done = 0;
    return true;
}

ssize_t hw_fabric_read(hw_fabric_endpoint *endpoint, const struct iovec *pieces, int count)
{
    size_t all = 0;
    for (int i = 0; i < count; i++)
        for (size_t done = 0; done < pieces[i].iov_len;) {
            if (!next_piece(endpoint))
                goto end;
            size_t left = endpoint->came_size - endpoint->came_done, space = pieces[i].iov_len - done,
                   part = left < space ? left : space;
            memcpy((char *)pieces[i].iov_base + done, endpoint->came + endpoint->came_done, part);
            endpoint->came_done += part;
            done += part;
            all += part;
            if (endpoint->came_done == endpoint->came_size) {
                endpoint->fabric->ucx.stream_data_release(endpoint->handle, endpoint->came);
                endpoint->came = NULL;
            }
        }
end:
    return all > 0 ? (ssize_t)all : endpoint->broken ? HW_FABRIC_BROKEN : 0;
}

bool hw_fabric_readable(hw_fabric_endpoint *endpoint)
{
    return next_piece(endpoint) || endpoint->broken;
}

bool hw_fabric_writable(const hw_fabric_endpoint *endpoint)
{
    return endpoint->in_flight <= WINDOW / 2;
}

#else /* A build without UCX's header: no fabric exists, so only the first function is ever called. */

hawser_status hw_fabric_new(bool trusted, hw_fabric **fabric, hawser_error *error)
{
    (void)trusted;
    *fabric = NULL;
    return hawser_fail(error, HAWSER_IO,
                       "UCX is asked for (--transport ucx), but this Hawser was built without it: install "
                       "libucx-dev and build again, or take another --transport");
}

void hw_fabric_free(hw_fabric *fabric)
{
    (void)fabric;
}

const void *hw_fabric_address(const hw_fabric *fabric, size_t *length)
{
    *length = 0;
    return fabric;
}

int hw_fabric_fd(const hw_fabric *fabric)
{
    (void)fabric;
    return -1;
}

bool hw_fabric_progress(hw_fabric *fabric)
{
    (void)fabric;
    return false;
}

bool hw_fabric_arm(hw_fabric *fabric)
{
    (void)fabric;
    return true;
}

hawser_status hw_fabric_open(hw_fabric *fabric, const void *address, hw_fabric_endpoint **endpoint, hawser_error *error)
{
    (void)address;
    *endpoint = NULL;
    return hw_fabric_new(false, &fabric, error);
}

void hw_fabric_close(hw_fabric_endpoint *endpoint)
{
    (void)endpoint;
}

ssize_t hw_fabric_write(hw_fabric_endpoint *endpoint, const struct iovec *pieces, int count)
{
    (void)endpoint, (void)pieces, (void)count;
    return HW_FABRIC_BROKEN;
}

ssize_t hw_fabric_read(hw_fabric_endpoint *endpoint, const struct iovec *pieces, int count)
{
    return hw_fabric_write(endpoint, pieces, count);
}

bool hw_fabric_readable(hw_fabric_endpoint *endpoint)
{
    return endpoint != NULL;
}

bool hw_fabric_writable(const hw_fabric_endpoint *endpoint)
{
    return endpoint == NULL;
}

#endif
