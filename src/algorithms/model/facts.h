/* facts.h - what every model file says about its training: data, columns, targets and options; and notes of trainings. */
#ifndef HW_ALGORITHMS_MODEL_FACTS_H
#define HW_ALGORITHMS_MODEL_FACTS_H

#include "hawser/algorithm.h"

/* The tensor with the values that replace missing values, by column. */
#define HW_MEANS "missing.means"

/* Adds a number as a fact, unless it is unknown (NaN), as the gap of a model without a certificate. */
hawser_status hw_model_number_fact(hawser_model *model, const char *key, double value, hawser_error *error) HAWSER_MUST_USE;
/* Adds the name of the algorithm, and the facts about the data that later loads for this model need. */
hawser_status hw_model_data_facts(hawser_model *model, const char *algorithm, const hawser_dataset *data,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Adds the values of all options. */
hawser_status hw_model_option_facts(hawser_model *model, const hawser_options *options, hawser_error *error) HAWSER_MUST_USE;
/* Returns a number of the model's facts, or `otherwise`. */
double hw_model_number(const hawser_model *model, const char *key, double otherwise);
/* Adds a note in the first free place, if there is one. */
void hw_note(hawser_training *training, const char *format, ...) HAWSER_PRINTF(2, 3);

#endif
