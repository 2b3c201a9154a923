/* find.c - finds tables by name: those of the store, and those that any client has made at stand-alone servers. */
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "runtime/store/remote.h"
#include "store/table_check.h"

static void describe(const hw_table_spec *spec, const char *name, hawser_table *table)
{
    static const hawser_type types[] = {
        [HW_VALUE_F32] = HAWSER_F32, [HW_VALUE_F64] = HAWSER_F64, [HW_VALUE_I64] = HAWSER_I64};
    *table = (hawser_table){
        .name = name,
        .type = types[spec->type],
        .width = spec->width,
        .sparse = spec->sparse,
        .first = spec->sparse ? 0 : spec->first,
        .count = spec->sparse ? 0 : spec->last - spec->first + 1,
        .last = spec->sparse ? 0 : spec->last,
        .function = spec->function->name,
        .data_centric = spec->centric,
        .delay = spec->delay,
        .summed = spec->summed,
        .staleness = spec->staleness,
    };
    memcpy(table->parameters, spec->parameters, sizeof table->parameters);
}

/* Finds the table of that name in the servers' list. Without one it fails and lists the names. */
static hawser_status pick(const hw_message *answer, const char *name, hw_table_wire *wire, hawser_error *error)
{
    char names[500] = "";
    size_t used = 0, length = (size_t)answer->envelope.length;
    for (size_t at = sizeof(hw_stat_wire); at + sizeof(hw_count_wire) <= length; at += sizeof(hw_count_wire)) {
        hw_count_wire count;
        memcpy(&count, (const char *)answer->payload + at, sizeof count);
        count.table.name[sizeof count.table.name - 1] = '\0';
        if (strcmp(count.table.name, name) == 0) {
            *wire = count.table;
            return HAWSER_OK;
        }
        if (used + 70 < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s'%s'", used > 0 ? ", " : "", count.table.name);
    }
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the servers have no table '%.63s'; %s%s", name,
                       used > 0 ? "they have " : "they have none", names);
}

/* Node 0 asks the servers and sends the answer to all nodes. */
static hawser_status find_there(hawser_store *store, const char *name, hw_table_spec *spec, hawser_error *error)
{
    hw_table_wire wire = {0};
    hw_message *answer = NULL;
    hw_bytes *in = NULL;
    hawser_status status = HW_NEW(&in, store->nodes, "reports of all nodes", error);
    if (status == HAWSER_OK && store->self == 0)
        status = hw_remote_ask(store->remote, 0, HW_CONTROL_STAT, NULL, 0, &answer, error);
    if (status == HAWSER_OK && store->self == 0)
        status = pick(answer, name, &wire, error);
    hw_message_free(answer);
    status = hw_cluster_agree(store->job->cluster, status, error);
    HAWSER_THEN(status, hw_cluster_allgather(store->job->cluster, (hw_bytes){&wire, sizeof wire}, in, error));
    if (status == HAWSER_OK) {
        memcpy(&wire, in[0].data, sizeof wire);
        status = hw_table_unpack(store, &wire, spec, error);
    }
    hw_bytes_free(in, store->nodes);
    return status;
}

hawser_status hawser_store_find(hawser_store *store, const char *name, hawser_table *table, uint32_t *number,
                                hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(name);
    HW_GIVEN(number);
    hawser_table found;
    if (table == NULL)
        table = &found;
    for (uint32_t t = 0; t < hw_client_tables(store->client); t++) {
        const hw_table_spec *spec = hw_client_table_at(store->client, t);
        if (strcmp(spec->name, name) != 0)
            continue;
        *number = t;
        describe(spec, name, table);
        return HAWSER_OK;
    }
    HAWSER_TRY(hw_table_check_name(name, error)); /* before a server reports it */
    if (store->remote == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the store has no table '%.63s'", name);
    hw_table_spec spec;
    hw_job_cancellable(store->job, NULL);
    hawser_status status = find_there(store, name, &spec, error);
    HAWSER_TRY(hw_job_uncancellable(store->job, hw_cluster_agree(store->job->cluster, status, error)));
    describe(&spec, name, table);
    return hawser_store_table(store, table, number, error);
}
