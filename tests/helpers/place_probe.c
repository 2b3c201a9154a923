/* place_probe.c - a program that only finds its place among nodes, passes the address of node 0 round, and prints both.
 * Usage: place_probe [--key-file FILE] [--alone]. With PROBE_CRASH=N node N kills itself once all have met. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <signal.h>

#include "cluster/place.h"

static int refuse(const hawser_error *error)
{
    fprintf(stderr, "probe: %s\n", error->text);
    return 3;
}

int main(int argc, char **argv)
{
    hw_place_options options = {.environment = environ};
    hw_place place;
    hawser_error error = {0};
    char address[HW_NET_ADDRESS] = "none", key[2 * HW_NET_KEY_MOST + 1];
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--key-file") == 0 && i + 1 < argc)
            options.key_file = argv[++i];
        else if (strcmp(argv[i], "--alone") == 0)
            options.alone = true;
    if (hw_place_find(&options, &place, &error) != HAWSER_OK)
        return refuse(&error);
    hawser_status status = HAWSER_OK;
    snprintf(address, sizeof address, "tcp:[::1]:%ld", place.port != 0 ? (long)place.port : (long)getpid());
    if (place.ops != NULL)
        status =
            place.node == 0 ? place.ops->publish(&place, address, &error) : place.ops->fetch(&place, 30, address, &error);
    hw_key_text(place.key, place.key_length, key);
    printf("node=%u/%u how=%s job=%s name=%s address=%s key=%.8s.%zu local=%d\n", place.node, place.nodes,
           place.ops != NULL ? place.ops->how : "alone", place.job, place.name, address, key, place.key_length, place.local);
    fflush(stdout);
    const char *crash = getenv("PROBE_CRASH"), *wait = getenv("PROBE_WAIT");
    if (crash != NULL && strtoul(crash, NULL, 10) == place.node)
        (void)kill(getpid(), SIGKILL);
    if (wait != NULL && place.lifeline >= 0) { /* for the launcher's end */
        char byte;
        while (read(place.lifeline, &byte, 1) > 0)
            continue;
        FILE *ended = fopen(wait, "a");
        if (ended != NULL) {
            fprintf(ended, "node %u saw its launcher's end\n", place.node);
            fclose(ended);
        }
        _exit(0);
    }
    hw_place_close(&place);
    return status == HAWSER_OK ? 0 : refuse(&error);
}
