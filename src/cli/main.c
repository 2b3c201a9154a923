#include "cli/cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* A mapped input that another program cuts short has no more bytes to give; the kernel says so with this signal alone. */
static void lost_page(int number)
{
    static const char text[] = "hawser: a file was cut short by another program while it was being read; keep inputs "
                               "unchanged until the end\n";
    (void)number;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(3);
}

int main(int argc, char **argv)
{
    struct sigaction lost;
    memset(&lost, 0, sizeof lost);
    lost.sa_handler = lost_page;
    (void)sigaction(SIGBUS, &lost, NULL);
    return hw_cli_main(argc, argv, environ, stdout, stderr);
}
