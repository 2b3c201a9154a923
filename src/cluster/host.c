/* host.c - the text that identifies the host of a node. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cluster/internal.h"

/* The boot id distinguishes machines. The host name distinguishes containers and network namespaces that act as hosts of
 * their own. */
void hw_cluster_host_id(char *text, size_t size)
{
    char boot[40] = "", name[HOST_NAME_MAX + 1] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(boot, sizeof boot, file) == NULL)
            boot[0] = '\0';
        fclose(file);
    }
    boot[strcspn(boot, "\n")] = '\0';
    if (gethostname(name, sizeof name - 1) != 0)
        name[0] = '\0';
    snprintf(text, size, "%.20s%.8s/%.30s", boot, boot + (strlen(boot) > 28 ? 28 : 0), name);
}
