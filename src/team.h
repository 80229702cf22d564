/* Threads that share some work, step by step.
 * Used by tile.c; the threads are OpenMP's. */
#ifndef UC_TEAM_H
#define UC_TEAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct uc_team {
    size_t threads;
    void (*publish)(void);  /* what a member does for others to see its work, or NULL */
    bool alone;             /* one thread: nobody to wait for */
    atomic_size_t taken[2]; /* of the present step, and of the next one */
} uc_team;

/* One thread of a team. */
typedef struct uc_member {
    uc_team *team;
    size_t thread; /* its number */
    size_t step, next, end;
} uc_member;

/* Runs `work` on so many threads, or fewer where there are no more to be had. At the end of each
 * step its members publish what they have done. */
void uc_team_run(size_t threads, void (*publish)(void),
                 void (*work)(uc_member *member, void *context), void *context);

/* The next of the `count` things that a step has to do. Members take neighbours, many at first and
 * fewer towards the end. False when all of them are done, by all members: each must ask until then.
 */
bool uc_team_take(uc_member *member, size_t count, size_t *thing);

#endif
