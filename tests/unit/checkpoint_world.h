/* checkpoint_world.h - a folder with checkpoints of a run that counts: numbers in its parts give the clock. */
#ifndef HW_TESTS_CHECKPOINT_WORLD_H
#define HW_TESTS_CHECKPOINT_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/folder.h"

enum { BLOCKS = 3, VALUES = 1700 };

static const hw_checkpoint_metric world_metrics[] = {{"objective", 0.25}, {"gap", 1e-300}};

/* The facts of the checkpoint of a clock, without parts. */
static inline hw_checkpoint world_facts(uint64_t clock)
{
    return (hw_checkpoint){.build = "0.1.0+1",
                           .program = "count",
                           .loop = "rounds",
                           .run = 1,
                           .clock = clock,
                           .seconds = 2.5,
                           .time = 1e9,
                           .workers = BLOCKS,
                           .identity = "option lambda = 0.2\ndata 'A' of the digest 12\n",
                           .metrics = world_metrics,
                           .metric_count = 2,
                           .logs = {[HW_LOG_EVENTS] = {812, 0xfedcba9876543210}}};
}

/* Writes the part of a block, or of the driver. */
static inline hawser_status world_part(const char *folder, const hw_checkpoint *of, hw_checkpoint_kind kind, uint32_t index,
                                       uint64_t clock, hw_checkpoint_part *part, hawser_error *error)
{
    static double values[VALUES];
    static unsigned char record[5] = "abcd";
    for (size_t i = 0; i < VALUES; i++)
        values[i] = (double)(clock * 1000 + index) + (double)i / VALUES;
    const hw_checkpoint_tensor tensors[] = {{"clock", HW_TENSOR_U64, 1, 0, &clock, 0},
                                            {"w", HW_TENSOR_F64, VALUES / 2, 2, values, 0},
                                            {"record", HW_TENSOR_U8, sizeof record, 0, record, 0},
                                            {"none", HW_TENSOR_F64, 0, 2, values, 0}};
    return hw_part_put(folder, of, kind, index, tensors, 4, part, error);
}

/* Writes one checkpoint of a clock. */
static inline hawser_status world_try(hw_folder *folder, uint64_t clock, hw_checkpoint *of, hawser_error *error)
{
    hw_checkpoint_part parts[BLOCKS + 1];
    HAWSER_TRY(hw_folder_begin(folder, of, error));
    for (uint32_t b = 0; b < BLOCKS; b++)
        HAWSER_TRY(world_part(folder->path, of, HW_CHECKPOINT_BLOCK, b, clock, &parts[b], error));
    HAWSER_TRY(world_part(folder->path, of, HW_CHECKPOINT_DRIVER, 0, clock, &parts[BLOCKS], error));
    of->parts = parts;
    of->part_count = BLOCKS + 1;
    hawser_status status = hw_folder_commit(folder, of, error);
    of->parts = NULL;
    return status;
}

static inline hawser_status world_write(hw_folder *folder, uint64_t clock, hawser_messages *messages, hawser_error *error)
{
    hawser_error why = {0};
    hw_checkpoint of = world_facts(clock);
    hawser_status status = world_try(folder, clock, &of, &why);
    return hw_folder_end(folder, &of, status, &why, messages, error);
}

/* Reads a part back. Returns whether it has the numbers of the clock. */
static inline bool world_read(const char *folder, const hw_checkpoint *from, hw_checkpoint_kind kind, uint32_t index,
                              uint64_t clock)
{
    hawser_error error = {0};
    hw_part_reader reader;
    double values[VALUES];
    uint64_t read = 0;
    hw_checkpoint_tensor w = {.name = "w", .type = HW_TENSOR_F64}, number = {.name = "clock", .type = HW_TENSOR_U64};
    const hw_checkpoint_part *part = hw_checkpoint_find(from, kind, index);
    if (part == NULL)
        return false;
    bool good = hw_part_open(&reader, folder, part, &error) == HAWSER_OK && hw_part_find(&reader, &w, &error) == HAWSER_OK &&
                hw_part_find(&reader, &number, &error) == HAWSER_OK &&
                hw_part_read(&reader, &w, 0, values, sizeof values, &error) == HAWSER_OK &&
                hw_part_read(&reader, &number, 0, &read, sizeof read, &error) == HAWSER_OK;
    hw_part_close(&reader);
    for (size_t i = 0; good && i < VALUES; i++)
        good = values[i] == (double)(clock * 1000 + index) + (double)i / VALUES;
    return good && read == clock && w.rows == VALUES / 2 && w.cols == 2;
}

/* Returns whether a checkpoint has all its parts, with the numbers of its clock. */
static inline bool world_whole(const char *folder, const hw_checkpoint *from)
{
    for (uint32_t b = 0; b < BLOCKS; b++)
        if (!world_read(folder, from, HW_CHECKPOINT_BLOCK, b, from->clock))
            return false;
    return from->part_count == BLOCKS + 1 && world_read(folder, from, HW_CHECKPOINT_DRIVER, 0, from->clock);
}

#endif
