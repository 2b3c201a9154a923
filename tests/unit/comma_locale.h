/* comma_locale.h - a locale that writes 0,5: the machine's, or one that is made for the test. */
#ifndef HW_TESTS_COMMA_LOCALE_H
#define HW_TESTS_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Sets it for all that a program can set; false where there is none and none can be made. Undone by setlocale(LC_ALL,
 * "C"). */
static bool set_comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8"};
    for (int i = 0; i < 2; i++)
        if (setlocale(LC_ALL, names[i]) != NULL)
            return true;
    char path[] = "/tmp/hawser-locale-XXXXXX", command[200];
    if (mkdtemp(path) == NULL)
        return false;
    (void)snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1", path, path);
    bool made = system(command) == 0 && setenv("LOCPATH", path, 1) == 0 && setlocale(LC_ALL, names[0]) != NULL;
    (void)unsetenv("LOCPATH");
    (void)snprintf(command, sizeof command, "rm -rf %s", path);
    return system(command) == 0 && made;
}

#endif
