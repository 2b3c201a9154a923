#include "algorithms/glm/board.h"

size_t hw_linear_board_share(const hw_linear *linear, size_t fields)
{
    return 1 + hw_linear_room(linear) * fields;
}

hw_linear_board hw_linear_board_look(const hw_linear *linear, size_t fields, const double *values)
{
    return (hw_linear_board){.values = values,
                             .share = hw_linear_board_share(linear, fields),
                             .fields = fields,
                             .blocks = linear->choices.blocks};
}

const double *hw_linear_board_next(hw_linear_board *board)
{
    for (; board->block < board->blocks; board->block++, board->at = 0) {
        const double *share = board->values + board->block * board->share;
        if (board->at < (size_t)share[0])
            return share + 1 + board->at++ * board->fields;
    }
    return NULL;
}

size_t hw_linear_board_count(const hw_linear_board *board)
{
    size_t count = 0;
    for (uint32_t b = 0; b < board->blocks; b++)
        count += (size_t)board->values[b * board->share];
    return count;
}
