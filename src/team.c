/* Threads that share some work, step by step.
 * Called by tile.c. One thread alone goes through the same steps without OpenMP, whose barriers ask
 * the system to wake nobody: half a microsecond of a small call. */
#include "team.h"

#if defined(_OPENMP)
#include <omp.h>
#endif

void uc_team_run(size_t threads, void (*publish)(void),
                 void (*work)(uc_member *member, void *context), void *context) {
    uc_team team = {.threads = threads, .publish = publish, .alone = true};
#if defined(_OPENMP)
    if (threads > 1) {
        team.alone = false;
#pragma omp parallel num_threads((int)threads)
        {
            uc_member member = {.team = &team, .thread = (size_t)omp_get_thread_num()};
            work(&member, context);
        }
        return;
    }
#endif
    work(&(uc_member){.team = &team}, context);
}

/* Of what is left a member takes this part of its share: large enough for neighbours that have
 * something in common, small enough that all end at about the same time. */
#define PART 4

bool uc_team_take(uc_member *m, size_t count, size_t *thing) {
    if (m->next == m->end) {
        atomic_size_t *taken = &m->team->taken[m->step % 2];
        const size_t seen = atomic_load_explicit(taken, memory_order_relaxed),
                     left = seen < count ? count - seen : 0,
                     some = m->team->alone ? left : left / (PART * m->team->threads),
                     chunk = some ? some : 1;
        m->next = atomic_fetch_add_explicit(taken, chunk, memory_order_relaxed);
        m->end = m->next + chunk < count ? m->next + chunk : count;
    }
    if (m->next < m->end) {
        *thing = m->next++;
        return true;
    }
    if (m->team->publish)
        m->team->publish();
    /* The other count was last used by the step before, which everyone has left. */
    m->step++;
    m->next = m->end = 0;
    atomic_store_explicit(&m->team->taken[m->step % 2], 0, memory_order_relaxed);
    if (!m->team->alone) {
#pragma omp barrier
    }
    return false;
}
