/* refused_entries.h - entries states that are refused (program_refusals.c). */
#ifndef HW_TESTS_UNIT_REFUSED_ENTRIES_H
#define HW_TESTS_UNIT_REFUSED_ENTRIES_H

#include "refused.h"

static void wrong_entries_states_are_rejected(void **state)
{
    (void)state;
    static const double values[] = {0.5, -1, 2147483648.0};
    static const uint64_t offsets[] = {0, 1, 2, 3};
    static const uint32_t indices[] = {2, 1, 3};
    static const char *const texts[] = {"row 0 of 'rows' has the value 0.5 in column 2",
                                        "row 1 of 'rows' has the value -1 in column 1",
                                        "row 2 of 'rows' has the value 2.14748365e+09 in column 3"};
    const hawser_matrix rows = {
        .rows = 3, .cols = 4, .stored = 3, .layout = HAWSER_CSR, .offsets = offsets, .indices = indices, .values = values};
    fixture f = make();
    HAWSER_STATE(f.program, "z", HAWSER_ENTRIES);
    refused(f, "'z'", "is along no data state");
    f = make();
    HAWSER_STATE(f.program, "z", HAWSER_ENTRIES, .along = f.v);
    refused(f, "'z' is along 'v'", "no data state");
    f = make();
    HAWSER_STATE(f.program, "z", HAWSER_ENTRIES, .along = f.data);
    refused(f, "'z' is along 'data'", "split by column");
    f = make();
    HAWSER_STATE(f.program, "z", HAWSER_ENTRIES, .along = f.whole);
    refused(f, "'z' is along 'whole'", "split over no blocks");
    f = make();
    hawser_state *dense = HAWSER_STATE(f.program, "dense", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_ROW);
    HAWSER_STATE(f.program, "z", HAWSER_ENTRIES, .along = dense);
    refused(f, "'z' is along 'dense'", "which is dense");
    for (size_t k = 0; k < 3; k++) {
        const hawser_matrix part = hawser_matrix_rows(&rows, k, k + 1);
        f = make();
        hawser_state *X = HAWSER_STATE(f.program, "rows", HAWSER_DATA, .matrix = &part, .split = HAWSER_BY_ROW);
        hawser_state *z = HAWSER_STATE(f.program, "z", HAWSER_ENTRIES, .along = X, .by_value = true);
        HAWSER_UNIT(f.root, "u", nothing, .updates = {z});
        refused(f, "'z' has as many numbers", texts[k]);
    }
    const hawser_matrix columns = {
        .rows = 40, .cols = 3, .stored = 3, .layout = HAWSER_CSC, .offsets = offsets, .indices = indices, .values = values};
    hawser_matrix broken = rows;
    broken.offsets = NULL;
    for (int k = 0; k < 2; k++) {
        f = make();
        hawser_state *X =
            HAWSER_STATE(f.program, "X", HAWSER_DATA, .matrix = k == 0 ? &columns : &broken, .split = HAWSER_BY_ROW);
        HAWSER_STATE(f.program, "z", HAWSER_ENTRIES, .along = X, .by_value = true);
        refused(f, "'X'", k == 0 ? "stored by columns (CSC)" : "its matrix");
    }
    for (int by_value = 0; by_value < 2; by_value++) {
        static const double whole[] = {0, 2, 3};
        const hawser_matrix counts = {.rows = 3,
                                      .cols = 4,
                                      .stored = 3,
                                      .layout = HAWSER_CSR,
                                      .offsets = offsets,
                                      .indices = indices,
                                      .values = whole};
        f = make();
        hawser_state *X = HAWSER_STATE(f.program, "rows", HAWSER_DATA, .matrix = &counts, .split = HAWSER_BY_ROW);
        hawser_state *z = HAWSER_STATE(f.program, "z", HAWSER_ENTRIES, .along = X, .by_value = by_value == 1, .rows = 4);
        HAWSER_UNIT(f.root, "u", nothing, .updates = {z});
        refused(f, "'z' has 4 numbers", by_value == 1 ? "have 5 by value" : "have 3 in all;");
    }
    for (int one = 0; one < 2; one++) {
        f = make();
        hawser_state *X = HAWSER_STATE(f.program, "rows", HAWSER_DATA, .matrix = &rows, .split = HAWSER_BY_ROW);
        hawser_state *z = HAWSER_STATE(f.program, "z", HAWSER_ENTRIES, .along = X);
        if (one == 0)
            HAWSER_UNIT(f.root, "changes", nothing, .updates = {X});
        HAWSER_UNIT(f.root, "u", nothing, .one = one == 1, .updates = {z});
        refused(f, "'z'", one == 1 ? "'u' runs on one block" : "'changes' transforms data state 'rows'");
    }
}

#endif
