#include "cli/run/hosts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cluster/place.h"

/* Reads a number of slots up to the end of its word. Returns false if it is none. */
static bool read_slots(const char *text, uint32_t *slots)
{
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 10);
    *slots = (uint32_t)value;
    return *text >= '0' && *text <= '9' && *end == '\0' && value >= 1 && value <= HW_PLACE_NODES_MOST;
}

/* Refuses a name that begins with a dash, which ssh would take for an option. */
static bool good_name(const char *name)
{
    return name[0] != '-' && name[0] != '\0' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        "._-@:%") == strlen(name);
}

static bool read_host(char *word, hw_host *host)
{
    char *bracket = word[0] == '[' ? strchr(word, ']') : NULL, *name = word;
    host->slots = 1;
    if (bracket != NULL) { /* [::1] or [::1]:4 */
        name = word + 1;
        *bracket = '\0';
        if (bracket[1] != '\0' && (bracket[1] != ':' || !read_slots(bracket + 2, &host->slots)))
            return false;
    } else {
        char *colon = strchr(word, ':');
        if (colon != NULL && strchr(colon + 1, ':') == NULL) { /* with two colons it is an IPv6 address */
            *colon = '\0';
            if (!read_slots(colon + 1, &host->slots))
                return false;
        }
    }
    host->name = name;
    return good_name(name);
}

/* Adds slots to a host that is known already. Returns false if it is not. Slots beyond the most that a job can have are not
 * counted. */
static bool merge(hw_hosts *hosts, const hw_host *host)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (strcmp(hosts->list[i].name, host->name) == 0) {
            if (hosts->list[i].slots <= HW_PLACE_NODES_MOST)
                hosts->list[i].slots += host->slots;
            return true;
        }
    return false;
}

static hawser_status read_line(hw_hosts *hosts, char *line, const char *place, hawser_error *error)
{
    static const char blanks[] = " \t\r\n";
    char *rest = NULL;
    hw_host host = {0};
    line[strcspn(line, "#")] = '\0';
    char *word = strtok_r(line, blanks, &rest);
    if (word == NULL)
        return HAWSER_OK;
    char shown[80];
    snprintf(shown, sizeof shown, "%s", word);
    if (!read_host(word, &host))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: '%s' is not a host; write host, host:N or host slots=N", place,
                           shown);
    while ((word = strtok_r(NULL, blanks, &rest)) != NULL)
        if (strncmp(word, "slots=", 6) != 0 || !read_slots(word + 6, &host.slots))
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: '%.60s' after a host: expected slots=N with N from 1 to %d",
                               place, word, HW_PLACE_NODES_MOST);
    if (merge(hosts, &host))
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&hosts->list, &hosts->capacity, hosts->count + 1, "hosts", error));
    HAWSER_TRY(hw_copy_text(&host.name, host.name, error));
    hosts->list[hosts->count++] = host;
    return HAWSER_OK;
}

hawser_status hw_hosts_read(hw_hosts *hosts, const char *path, hawser_error *error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "%s: cannot open the list of hosts: %s", path, strerror(errno));
    char *line = NULL, place[300];
    size_t capacity = 0;
    hawser_status status = HAWSER_OK;
    for (unsigned long number = 1; status == HAWSER_OK && getline(&line, &capacity, file) >= 0; number++) {
        snprintf(place, sizeof place, "%.250s:%lu", path, number);
        status = read_line(hosts, line, place, error);
    }
    if (status == HAWSER_OK && ferror(file))
        status = hawser_fail(error, HAWSER_IO, "%s: cannot read the list of hosts: %s", path, strerror(errno));
    if (status == HAWSER_OK && hosts->count == 0)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: it has no hosts; write one per line", path);
    free(line);
    (void)fclose(file);
    return status;
}

static uint32_t slots_of(const hw_host *host)
{
    return host->out ? 0 : host->slots;
}

uint64_t hw_hosts_slots(const hw_hosts *hosts)
{
    uint64_t slots = 0;
    for (size_t i = 0; i < hosts->count; i++)
        slots += slots_of(&hosts->list[i]);
    return slots;
}

hawser_status hw_hosts_fill(hw_hosts *hosts, uint32_t *nodes, hawser_error *error)
{
    uint64_t slots = hw_hosts_slots(hosts);
    if (slots > HW_PLACE_NODES_MOST)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%llu slots: a job has at most %d nodes", (unsigned long long)slots,
                           HW_PLACE_NODES_MOST);
    if (*nodes > slots)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "%u nodes for hosts with %llu slots; add hosts, or write slots=N after hosts that can run more",
                           *nodes, (unsigned long long)slots);
    if (*nodes == 0)
        *nodes = (uint32_t)slots;
    uint32_t next = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        hw_host *host = &hosts->list[i];
        host->first = next;
        host->count = slots_of(host) < *nodes - next ? slots_of(host) : *nodes - next;
        next += host->count;
    }
    return HAWSER_OK;
}

static const char *without_user(const hw_host *host)
{
    const char *at = strchr(host->name, '@');
    return at != NULL ? at + 1 : host->name;
}

void hw_hosts_name(const hw_hosts *hosts, const hw_host *host, uint32_t node, char *text, size_t size)
{
    const char *name = without_user(host);
    uint32_t nodes = 0, before = 0;
    for (size_t i = 0; i < hosts->count; i++)
        if (strcmp(without_user(&hosts->list[i]), name) == 0) {
            before += hosts->list + i < host ? hosts->list[i].count : 0;
            nodes += hosts->list[i].count;
        }
    if (nodes > 1)
        snprintf(text, size, "%.50s-%u", name, before + node - host->first + 1);
    else
        snprintf(text, size, "%.60s", name);
}

void hw_hosts_free(hw_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        free(hosts->list[i].name);
    free(hosts->list);
    *hosts = (hw_hosts){0};
}
