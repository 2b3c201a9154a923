/* place_hand.c - nodes that are started by hand or by a supervisor: a manager that listens (--listen N), and others that
 * join it (hawser node --join HOST:PORT). The key file makes them one job. */
#include <stdio.h>
#include <string.h>

#include "cluster/place.h"

static hawser_status publish(hw_place *place, const char *address, hawser_error *error)
{
    (void)error;
    hw_notify(place->messages, HAWSER_NOTE, 0, "waiting for %u more at %s (hawser node --join HOST:PORT --key-file FILE)",
              place->nodes - 1, address);
    hw_notify(place->messages, HAWSER_NOTE, 0, "listening on %s (--interface chooses)", place->listening);
    return HAWSER_OK;
}

static hawser_status fetch(hw_place *place, double seconds, char address[HW_NET_ADDRESS], hawser_error *error)
{
    (void)seconds;
    (void)error;
    snprintf(address, HW_NET_ADDRESS, "%s", place->manager);
    return HAWSER_OK;
}

static void close_place(hw_place *place)
{
    (void)place;
}

hawser_status hw_place_hand(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    static const hw_place_ops ops = {"by hand", publish, fetch, NULL, NULL, close_place};
    if (options->join == NULL && options->node != 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "node %u: only a node with the option join can be given a number",
                           options->node);
    if (options->join == NULL && options->listen < 2)
        return HAWSER_OK;
    if (options->join != NULL && strlen(options->join) >= sizeof place->manager)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--join: an address of over %zu bytes", sizeof place->manager);
    if (options->key_file == NULL && options->key == NULL)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "nodes that are started by hand prove themselves by a key: give --key-file FILE ('hawser key FILE' "
            "makes one; every node needs the same)");
    place->node = options->join == NULL ? 0 : options->node != 0 ? options->node : HW_NET_ANY;
    place->nodes = options->join != NULL ? 0 : options->listen;
    place->by_hand = place->key_of_file = true;
    place->ops = &ops;
    place->messages = options->messages;
    snprintf(place->manager, sizeof place->manager, "%s", options->join != NULL ? options->join : "");
    snprintf(place->job, sizeof place->job, "by-hand");
    return hw_key_take(options, place, error);
}
