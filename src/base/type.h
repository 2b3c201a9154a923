/* type.h - stored numbers whose type is given by a matrix, a model or a table. */
#ifndef HW_BASE_TYPE_H
#define HW_BASE_TYPE_H

#include <stddef.h>

#include "hawser/matrix.h"

/* Returns the bytes of one stored number. */
static inline size_t hw_type_size(hawser_type type)
{
    return type == HAWSER_F32 || type == HAWSER_I32 ? sizeof(float) : sizeof(double);
}

/* Returns one of an array of floats or doubles. */
static inline double hw_value_at(const void *values, hawser_type type, size_t at)
{
    return type == HAWSER_F32 ? (double)((const float *)values)[at] : ((const double *)values)[at];
}

#endif
