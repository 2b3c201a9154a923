/*
 * disk.h - what a host's disk loses when the host crashes, and a disk that is full or slow.
 *
 * Files are those of the real file system. The world notes which bytes and names of them are not synced yet. A process that
 * is killed loses none of them, because its kernel has them. A host that crashes may lose bytes behind the last fsync of a
 * file (or have zeros in their place), and names that changed after the last fsync of their directory. Files without a name
 * (O_TMPFILE) do not exist in a world. Directories are made for good.
 */
#ifndef HW_SIM_DISK_H
#define HW_SIM_DISK_H

#include <stdbool.h>
#include <stdint.h>

/* sync: seconds of an fsync. crashes: hosts may crash, so changes are noted; it makes a directory of its own in the current
 * one until the world is closed. */
void sim_disks_open(double sync, bool crashes, uint32_t hosts);
void sim_disks_close(void);

/* Draws what the host loses. Its processes must have ended. An event. */
void sim_disk_crash(uint32_t host);
/* From now on the host's disk takes no more bytes. */
void sim_disk_fill(uint32_t host);

#endif
