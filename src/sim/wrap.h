/* wrap.h - a call that `--wrap` leads here: __wrap_NAME is called instead of NAME, and __real_NAME is NAME. */
#ifndef HW_SIM_WRAP_H
#define HW_SIM_WRAP_H

#define SIM_WRAP(result, name, ...)                                                                                         \
    result __real_##name(__VA_ARGS__);                                                                                      \
    result __wrap_##name(__VA_ARGS__);                                                                                      \
    result __wrap_##name(__VA_ARGS__)

#endif
