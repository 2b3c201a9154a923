/* main.c - where the command starts. */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/interrupt.h"

/* Handles a read beyond the end of a mapped input that another program has cut short: the kernel reports it by this signal only. */
static void lost_page(int number)
{
    static const char text[] = "hawser: a file was truncated by another program while it was being read; keep inputs "
                               "unchanged until the end\n";
    (void)number;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(3);
}

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
    struct sigaction lost;
    if (hw_interrupt_open(&interrupt, is_silent(argc, argv), &error) != HAWSER_OK) {
        fprintf(stderr, "hawser: %s\n", error.text);
        return HW_EXIT_MEMORY;
    }
    memset(&lost, 0, sizeof lost);
    lost.sa_handler = lost_page;
    (void)sigaction(SIGBUS, &lost, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that grows beyond its limit fails like one on a full disk, and ends nothing */
    hw_call call = {.environment = environ, .out = stdout, .err = stderr, .interrupt = &interrupt};
    int code = hw_cli_call(&call, argc, argv);
    hw_interrupt_close(&interrupt);
    return code;
}
