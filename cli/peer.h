/* Peers: other people's implementations, each in a process of its own that runs when it is asked.
 * Called by bench --peers and by bench/bench.c.
 *
 * A peer is any command that first prints "bare NAME" or "whole NAME" (the convolution alone, or
 * the whole operator) and then answers every line "SLUG batch_size=2 in_channels=32 ..." with the
 * seconds that one execution took, or with "failed: WHY". Between questions it is stopped, so that
 * threads of it that wait for work by spinning don't take the cores from the others. */
#ifndef UC_CLI_PEER_H
#define UC_CLI_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "upconv.h"

typedef struct peer {
    pid_t pid;
    FILE *to, *from;
    bool bare, alive;
    char name[64];
    char failure[160]; /* the last one; "" if there was none */
} peer;

/* False, with the failure said in it, if it can't be started or says no. */
bool peer_start(peer *p, const char *command);
/* The seconds of one execution, or a negative number: it can't do this one. */
double peer_run(peer *p, const char *slug, const uc_operator_params *params);
void peer_end(peer *p);

#endif
