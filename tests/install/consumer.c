/* A separate program on the installed headers: the versions agree, and something inside the library runs. */
#include <stdio.h>
#include <string.h>

#include <hawser/algorithm.h>
#include <hawser/hawser.h>

int main(void)
{
    const double x[3] = {1, 2, 3};
    if (strcmp(hawser_version(), HAWSER_VERSION) != 0)
        return 1;
    if (hawser_dot(3, x, x, NULL) != 14)
        return 2;
    printf("%s\n", hawser_version());
    return 0;
}
