/* man.c - the manual page, from the same rows and topics as the help. */
#include <stdlib.h>

#include "cli/help.h"
#include "report/option_text.h"

/* A line that begins with a dot or an apostrophe would be a request, a backslash an escape; a dash must stay a dash. */
static void print_text(FILE *out, const char *text)
{
    bool fresh = true;
    for (; *text != '\0'; text++) {
        if (fresh && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        fresh = *text == '\n';
    }
}

static void print_rows(FILE *out, const hawser_option *rows)
{
    for (; rows->key != NULL; rows++) {
        char flag[120], limits[200];
        hw_help_flag(rows, flag, sizeof flag);
        hw_help_limits(rows, limits, sizeof limits);
        fputs(".TP\n.B ", out);
        print_text(out, flag);
        fputc('\n', out);
        print_text(out, rows->help);
        fputs(limits[0] != '\0' ? "\n[" : "\n", out);
        print_text(out, limits);
        fputs(limits[0] != '\0' ? "]\n" : "", out);
    }
}

static void print_metrics(FILE *out, const hawser_metric_row *rows)
{
    if (rows == NULL)
        return;
    fputs(".P\nMetrics of a training:\n", out);
    for (; rows->name != NULL; rows++) {
        if (rows->help == NULL)
            continue;
        fputs(".TP\n.B ", out);
        print_text(out, rows->name);
        fputc('\n', out);
        print_text(out, rows->help);
        fputc('\n', out);
    }
}

static void print_command(FILE *out, const hw_command *command)
{
    fprintf(out, ".SS hawser %s ", command->name);
    print_text(out, command->words);
    fputc('\n', out);
    print_text(out, command->text);
    fputc('\n', out);
    const hawser_option *tables[HW_TABLES];
    hw_command_tables(command, NULL, tables);
    for (size_t t = 0; tables[t] != NULL && tables[t + 1] != NULL; t++) {
        if (tables[t] == hawser_job_rows())
            fputs(".P\nIt takes the options of the job as well.\n", out);
        else if (tables[t] == hawser_data_rows())
            fputs(".P\nIt takes the options of the input as well.\n", out);
        else
            print_rows(out, tables[t]);
    }
}

static void print_common(FILE *out)
{
    const hawser_option *tables[HW_TABLES];
    hw_command_tables(hw_command_at(0), NULL, tables);
    fputs(".SS Options of every command\n", out);
    for (size_t t = 0; tables[t] != NULL; t++)
        if (tables[t + 1] == NULL)
            print_rows(out, tables[t]);
}

hawser_status hw_man(hw_call *call, hawser_error *error)
{
    FILE *out = call->out;
    fprintf(out, ".TH HAWSER 1 \"\" \"Hawser %s\" \"User commands\"\n", hawser_version());
    fputs(".SH NAME\nhawser \\- train models on many workers with a chosen consistency\n"
          ".SH SYNOPSIS\n.B hawser\n.I COMMAND\n[\\fIoptions\\fR] [\\fIwords\\fR]\n.SH COMMANDS\n",
          out);
    for (size_t i = 0; hw_command_at(i) != NULL; i++)
        print_command(out, hw_command_at(i));
    fputs(".SH OPTIONS\n", out);
    print_common(out);
    fputs(".SS Options of the job\n", out);
    print_rows(out, hawser_job_rows());
    fputs(".SS Options of the input\n", out);
    print_rows(out, hawser_data_rows());
    for (size_t i = 0; hawser_algorithm_at(i) != NULL; i++) {
        fprintf(out, ".SS Options of %s\n", hawser_algorithm_at(i)->name);
        print_text(out, hawser_algorithm_at(i)->summary);
        fputc('\n', out);
        print_rows(out, hawser_algorithm_at(i)->rows);
        print_metrics(out, hawser_algorithm_at(i)->metrics);
    }
    for (size_t i = 0; hw_topic_at(i) != NULL; i++) {
        fputs(".SH ", out);
        print_text(out, hw_topic_at(i)->title);
        fputs("\n.nf\n", out);
        char *text = NULL;
        HAWSER_TRY(hw_topic_text(hw_topic_at(i), &text, error));
        print_text(out, text);
        free(text);
        fputs(".fi\n", out);
    }
    return HAWSER_OK;
}
