/* moved.h - results of reads and writes that move no byte; others are the number of bytes. */
#ifndef HW_TRANSPORT_NET_MOVED_H
#define HW_TRANSPORT_NET_MOVED_H

enum { HW_CHANNEL_END = 0, HW_CHANNEL_AGAIN = -1, HW_CHANNEL_BROKEN = -2 };

#endif
