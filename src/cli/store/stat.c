/* stat.c - hawser store stat: prints what servers hold and have done. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/store/store.h"
#include "report/json.h"
#include "runtime/store/asking.h"

/* The figures of one server. */
typedef struct server_stat {
    hw_bytes bytes;
    hw_stat_wire stat;
    size_t tables;
} server_stat;

static hw_count_wire count_at(const server_stat *one, size_t table)
{
    hw_count_wire count;
    memcpy(&count, (const char *)one->bytes.data + sizeof one->stat + table * sizeof count, sizeof count);
    count.table.name[HW_TABLE_NAME - 1] = count.table.function[HW_TABLE_NAME - 1] = '\0';
    return count;
}

static hawser_status ask_all(const hw_store_session *session, server_stat *all, uint32_t servers, hawser_error *error)
{
    for (uint32_t s = 0; s < servers; s++) {
        server_stat *one = &all[s];
        HAWSER_TRY(hw_store_stat_of(session->store, s, &one->bytes, error));
        size_t length = one->bytes.length;
        if (length < sizeof one->stat)
            return hawser_fail(error, HAWSER_BAD_INPUT, "server %u sent no figures", s);
        memcpy(&one->stat, one->bytes.data, sizeof one->stat);
        one->stat.name[HW_NET_NAME - 1] = '\0';
        one->tables = (length - sizeof one->stat) / sizeof(hw_count_wire);
        if (one->tables < all[0].tables)
            all[0].tables = one->tables; /* this server is just creating a table */
    }
    return HAWSER_OK;
}

static const char *type_name(uint32_t type)
{
    return type == HW_VALUE_F32 ? "f32" : type == HW_VALUE_F64 ? "f64" : "i64";
}

static void print_text(FILE *out, const server_stat *all, uint32_t servers)
{
    fprintf(out, "%-7s %-20s %12s %14s %12s %9s %9s %14s %14s\n", "server", "name", "keys", "bytes", "requests", "refused",
            "deferred", "counted", "limit");
    for (uint32_t s = 0; s < servers; s++) {
        const hw_stat_wire *stat = &all[s].stat;
        fprintf(out,
                "%-7" PRIu32 " %-20s %12" PRIu64 " %14" PRIu64 " %12" PRIu64 " %9" PRIu64 " %9" PRIu64 " %14" PRIu64
                " %14" PRIu64 "\n",
                s, stat->name, stat->keys, stat->bytes, stat->requests, stat->refused, stat->deferred, stat->counted,
                stat->limit);
    }
    fprintf(out, "groups besides this command: %" PRIu32 "\n",
            all[0].stat.groups > 0 ? all[0].stat.groups - 1 : all[0].stat.groups);
    for (size_t t = 0; t < all[0].tables; t++) {
        hw_count_wire count = count_at(&all[0], t);
        uint64_t keys = 0, bytes = 0;
        for (uint32_t s = 0; s < servers; s++) {
            keys += count_at(&all[s], t).keys;
            bytes += count_at(&all[s], t).bytes;
        }
        fprintf(out, "table '%s': %s, width %" PRIu32 ", %s, ", count.table.name, type_name(count.table.type),
                count.table.width, count.table.function);
        if (count.table.sparse)
            fprintf(out, "any key");
        else
            fprintf(out, "keys %" PRIu64 "..%" PRIu64, count.table.first, count.table.last);
        fprintf(out, "; %" PRIu64 " keys in %" PRIu64 " bytes\n", keys, bytes);
    }
}

static json_t *table_json(const server_stat *all, uint32_t servers, size_t t, bool *ok)
{
    const hw_count_wire count = count_at(&all[0], t);
    json_t *object = json_object(), *keys = json_array(), *bytes = json_array();
    hw_json_text(object, "name", count.table.name, ok);
    hw_json_text(object, "type", type_name(count.table.type), ok);
    hw_json_text(object, "function", count.table.function, ok);
    hw_json_count(object, "width", count.table.width, ok);
    hw_json_take(object, "sparse", json_boolean(count.table.sparse != 0), ok);
    if (count.table.sparse == 0) {
        hw_json_count(object, "first", count.table.first, ok);
        hw_json_count(object, "last", count.table.last, ok);
    }
    for (uint32_t s = 0; s < servers; s++) {
        hw_count_wire own = count_at(&all[s], t);
        hw_json_append(keys, json_integer((json_int_t)own.keys), ok);
        hw_json_append(bytes, json_integer((json_int_t)own.bytes), ok);
    }
    hw_json_take(object, "keys", keys, ok); /* one number per server */
    hw_json_take(object, "bytes", bytes, ok);
    return object;
}

static hawser_status print_json(FILE *out, const server_stat *all, uint32_t servers, hawser_error *error)
{
    bool ok = true;
    json_t *root = json_object(), *list = json_array(), *tables = json_array();
    for (uint32_t s = 0; s < servers; s++) {
        const hw_stat_wire *stat = &all[s].stat;
        json_t *object = json_object();
        hw_json_text(object, "name", stat->name, &ok);
        hw_json_count(object, "keys", stat->keys, &ok);
        hw_json_count(object, "bytes", stat->bytes, &ok);
        hw_json_count(object, "requests", stat->requests, &ok);
        hw_json_count(object, "refused", stat->refused, &ok);
        hw_json_count(object, "deferred", stat->deferred, &ok);
        hw_json_count(object, "counted", stat->counted, &ok); /* bytes that count towards the limit */
        hw_json_count(object, "limit", stat->limit, &ok);
        hw_json_count(object, "bytes_received", stat->bytes_in, &ok);
        hw_json_count(object, "bytes_sent", stat->bytes_out, &ok);
        hw_json_append(list, object, &ok);
    }
    for (size_t t = 0; t < all[0].tables; t++)
        hw_json_append(tables, table_json(all, servers, t, &ok), &ok);
    hw_json_take(root, "servers", list, &ok);
    hw_json_count(root, "groups", all[0].stat.groups > 0 ? all[0].stat.groups - 1 : 0, &ok);
    hw_json_take(root, "tables", tables, &ok);
    return hw_json_line(out, root, ok, error);
}

static hawser_status look(const hw_store_session *session, hawser_error *error)
{
    uint32_t servers = hw_store_servers(session->store);
    server_stat *all = NULL;
    HAWSER_TRY(HW_NEW(&all, servers, "reports of servers", error));
    hawser_status status = ask_all(session, all, servers, error);
    if (status == HAWSER_OK && hawser_options_flag(session->call->options, "json"))
        status = print_json(session->call->out, all, servers, error);
    else if (status == HAWSER_OK)
        print_text(session->call->out, all, servers);
    for (uint32_t s = 0; s < servers; s++)
        free(all[s].bytes.data);
    free(all);
    return status;
}

hawser_status hw_store_stat(hw_call *call, hawser_error *error)
{
    hw_store_session session;
    hawser_status status = hw_store_session_begin(call, &session, error);
    HAWSER_THEN(status, look(&session, error));
    hw_store_session_end(&session);
    return status;
}
