/* main.c - where the command starts. */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/lost_page.h"

/* Returns whether another process prints what a signal does that a launcher sends to all: hawser run for its agents, and
 * node 0 for the others. */
static bool is_silent(int argc, char **argv)
{
    static const char *const numbers[][2] = {{"HAWSER_LAUNCH", "HAWSER_NODE"},
                                             {"PMIX_NAMESPACE", "PMIX_RANK"},
                                             {"PMI_FD", "PMI_RANK"},
                                             {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *node = getenv(numbers[i][0]) != NULL ? getenv(numbers[i][1]) : NULL;
        if (node != NULL)
            return strcmp(node, "0") != 0;
    }
    return argc > 1 && strcmp(argv[1], "agent") == 0;
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
