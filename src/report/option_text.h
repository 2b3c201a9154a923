/* option_text.h - options as text: their flags, limits and variables, and paragraphs of help. */
#ifndef HW_REPORT_OPTION_TEXT_H
#define HW_REPORT_OPTION_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "hawser/options.h"

/* Returns whether "HAWSER_EXCHANGE_EVERY=..." is the variable of "exchange-every". */
bool hw_help_variable_is(const char *key, const char *variable);
/* Converts "exchange-every" to "HAWSER_EXCHANGE_EVERY", and back (up to the =). */
void hw_help_variable_of(const char *key, char *text, size_t size);
void hw_help_key_of(const char *variable, char *text, size_t size);
/* Writes "--tol T", "--[no-]intercept", with the short form first: "-o, --output FILE". */
void hw_help_flag(const hawser_option *row, char *text, size_t size);
/* Writes "default 1e-6; (0,1)", or "" if the option has neither. */
void hw_help_limits(const hawser_option *row, char *text, size_t size);

/* Prints the words of `text` from column `column` on, wrapped to lines that begin at `indent`. */
void hw_help_wrapped(FILE *out, const char *text, size_t column, size_t indent);
/* Print one option, or a table of options below a title, with help, default and limits. */
void hw_help_row(FILE *out, const hawser_option *row);
void hw_help_rows(FILE *out, const char *title, const hawser_option *rows);

#endif
