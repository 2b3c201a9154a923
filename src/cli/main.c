/* main.c - where the command starts. */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/lost_page.h"

/* Returns whether another process prints for this one: hawser run for its agents, and node 0 for the other nodes before the job begins. */
static bool is_silent(int argc, char **argv)
{
    const char *node = getenv("HAWSER_NODE");
    return (argc > 1 && strcmp(argv[1], "agent") == 0) ||
           (getenv("HAWSER_LAUNCH") != NULL && node != NULL && strcmp(node, "0") != 0);
}

int main(int argc, char **argv)
{
    hw_interrupt interrupt;
    hawser_error error = {0};
    if (hw_interrupt_open(&interrupt, is_silent(argc, argv), &error) != HAWSER_OK) {
        fprintf(stderr, "hawser: %s\n", error.text);
        return HW_EXIT_MEMORY;
    }
    hw_handle_lost_pages();
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that grows beyond its limit fails like one on a full disk, and ends nothing */
    hw_call call = {.environment = environ, .out = stdout, .err = stderr, .interrupt = &interrupt};
    int code = hw_cli_call(&call, argc, argv);
    hw_interrupt_close(&interrupt);
    return code;
}
