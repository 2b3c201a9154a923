/* info_folder.h - what hawser info prints of a folder of checkpoints. */
#ifndef HW_CLI_INFO_FOLDER_H
#define HW_CLI_INFO_FOLDER_H

#include "cli/cli.h"

/* Returns whether a path is a folder. */
bool hw_info_is_folder(const char *path);
/* Prints the facts of the newest checkpoint in the call's folder, as one object of JSON with `json`. */
hawser_status hw_info_folder(const hw_call *call, bool json, hawser_error *error) HAWSER_MUST_USE;

#endif
