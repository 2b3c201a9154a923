/* help.h - help from the rows, and the topics that are not in rows. */
#ifndef HW_CLI_HELP_H
#define HW_CLI_HELP_H

#include "cli/cli.h"
#include "report/option_text.h"

const hawser_topic *hw_topic_at(size_t index); /* the command's own pages, then those of algorithms; NULL past the last */
/* Makes the page's text, with the parts that rows determine. The caller frees it. */
hawser_status hw_topic_text(const hawser_topic *topic, char **text, hawser_error *error) HAWSER_MUST_USE;

/* Prints a topic, command, algorithm or option; "" is the overview. HAWSER_BAD_OPTION: there is none of this name. */
hawser_status hw_help_topic(FILE *out, const char *topic, hawser_error *error) HAWSER_MUST_USE;
/* Prints usage, text and options of a command: those of every day, one per line, or, with `all`, all options by group, with
 * limits. algorithm may be NULL. */
hawser_status hw_help_command(FILE *out, const hw_command *command, const hawser_algorithm *algorithm, bool all,
                              hawser_error *error) HAWSER_MUST_USE;
/* Returns the title of a table's options that have no group. */
const char *hw_help_title(const hawser_option *table, const hawser_algorithm *algorithm);
/* The title of the options that every command has. */
#define HW_EVERY_COMMAND "Options of every command"

/* The words of other software. Writes "glmnet's alpha is --l1-ratio; ..." for a typed word; returns false if no row has
 * it. */
bool hw_peers_hint(const char *typed, char *text, size_t size);
void hw_peers_print(FILE *out); /* prints all of them, by software */

/* Prints the meaning of each word of the option, one per line; nothing for an option whose words are no rows of a table. */
void hw_help_words(FILE *out, const char *key);

#endif
