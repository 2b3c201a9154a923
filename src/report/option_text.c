#include "report/option_text.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 6 };

bool hw_help_variable_is(const char *key, const char *variable)
{
    if (strncmp(variable, "HAWSER_", 7) != 0)
        return false;
    for (variable += 7; *key != '\0'; key++, variable++)
        if (*variable != (*key == '-' ? '_' : toupper((unsigned char)*key)))
            return false;
    return *variable == '=' || *variable == '\0';
}

void hw_help_variable_of(const char *key, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "HAWSER_");
    for (; *key != '\0' && n + 1 < size; key++, n++)
        text[n] = *key == '-' ? '_' : (char)toupper((unsigned char)*key);
    text[n] = '\0';
}

void hw_help_key_of(const char *variable, char *text, size_t size)
{
    size_t n = 0;
    for (variable += 7; *variable != '\0' && *variable != '=' && n + 1 < size; variable++, n++)
        text[n] = *variable == '_' ? '-' : (char)tolower((unsigned char)*variable);
    text[n] = '\0';
}

void hw_help_flag(const hawser_option *row, char *text, size_t size)
{
    char letter[8] = "";
    if (row->letter != '\0')
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    if (row->kind == HAWSER_FLAG)
        snprintf(text, size, "%s--[no-]%s", letter, row->key);
    else
        snprintf(text, size, "%s--%s %s", letter, row->key, row->unit != NULL ? row->unit : "VALUE");
}

void hw_help_limits(const hawser_option *row, char *text, size_t size)
{
    bool has_default = row->value != NULL && row->value[0] != '\0';
    snprintf(text, size, "%s%s%s%s", has_default ? "default " : "", has_default ? row->value : "",
             has_default && row->bounds != NULL ? "; " : "", row->bounds != NULL ? row->bounds : "");
}

void hw_help_wrapped(FILE *out, const char *text, size_t column, size_t indent)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " \n");
        if (column > indent && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, length, out);
        column += length;
        text += length;
        text += strspn(text, " \n");
    }
}

void hw_help_row(FILE *out, const hawser_option *row)
{
    char flag[120], limits[200];
    hw_help_flag(row, flag, sizeof flag);
    hw_help_limits(row, limits, sizeof limits);
    fprintf(out, "  %s\n%*s", flag, INDENT, "");
    hw_help_wrapped(out, row->help, INDENT, INDENT);
    if (limits[0] != '\0') {
        fprintf(out, "\n%*s", INDENT, "");
        hw_help_wrapped(out, limits, INDENT, INDENT);
    }
    fputc('\n', out);
}

void hw_help_rows(FILE *out, const char *title, const hawser_option *rows)
{
    if (rows == NULL || rows->key == NULL)
        return;
    fprintf(out, "\n%s:\n", title);
    for (; rows->key != NULL; rows++)
        hw_help_row(out, rows);
}
