/* rescue.h - saving the model of a training where its file cannot be written. */
#ifndef HW_CLI_RESCUE_H
#define HW_CLI_RESCUE_H

#include "cli/cli.h"

/* Saves a model under `path`. If that fails, says so, tries again for as long as --grace allows, and then saves it in a new folder under
 * TMPDIR or /tmp. *kept is that file, for the caller to free, and NULL otherwise; HAWSER_IO then names it, or says that the model is lost. */
hawser_status hw_rescue_model(const hw_call *call, const hawser_job *job, const hawser_model *model, const char *path,
                              char **kept, hawser_error *error) HAWSER_MUST_USE;

#endif
