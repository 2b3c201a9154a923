/* lost_page.c - a read beyond the end of a mapped input: the kernel reports it by SIGBUS only. The handler finds the file by
 * the address in the list of this process's mappings, and calls only what a signal handler may call. */
#include "cli/lost_page.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MOST = 8192, EXIT_INPUT = 3 };

/* Reads a hexadecimal number, and stores where it ends. */
static uintptr_t hexadecimal(const char *at, const char **end)
{
    uintptr_t value = 0;
    for (;; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : 16;
        if (digit == 16)
            break;
        value = value * 16 + digit;
    }
    *end = at;
    return value;
}

/* Returns the file of a line "BEGIN-END rights offset device inode   /file" if it has the address, or NULL. */
static const char *file_of(const char *line, uintptr_t address)
{
    const char *at;
    uintptr_t begin = hexadecimal(line, &at), end = *at == '-' ? hexadecimal(at + 1, &at) : 0;
    return address >= begin && address < end ? strchr(at, '/') : NULL;
}

/* Reads a line without its end; a longer one is cut. Returns false at the end of the file. */
static bool read_line(int file, char line[LINE_MOST])
{
    size_t length = 0;
    char byte;
    while (read(file, &byte, 1) == 1 && byte != '\n')
        if (length + 1 < LINE_MOST)
            line[length++] = byte;
    line[length] = '\0';
    return length > 0;
}

static void print(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static void lost_page(int number, siginfo_t *facts, void *context)
{
    char line[LINE_MOST];
    const char *name = NULL;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    (void)number, (void)context;
    while (maps >= 0 && name == NULL && read_line(maps, line))
        name = file_of(line, (uintptr_t)facts->si_addr);
    print("hawser: ");
    print(name != NULL ? name : "a file");
    print(" was truncated by another program, or its disk failed, while it was being read; keep inputs unchanged until the "
          "end\n");
    _exit(EXIT_INPUT);
}

void hw_handle_lost_pages(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = lost_page;
    action.sa_flags = SA_SIGINFO;
    (void)sigaction(SIGBUS, &action, NULL);
}
