/* The bars, and the figures that are held against them.
 * Called by table.c, json.c and bench.c. */
#include "results.h"

#include <math.h>
#include <string.h>

bars bars_of(const char *slug) {
    static const struct {
        const char *slug;
        bars bars;
    } known[] = {
        {"conv-transpose3d-avgpool-clamp-softmax-multiply", {0.90, 0.80}},
        {"conv-transpose3d-max-max-sum", {0.75, 0.80}},
        {"conv-transpose3d-sum-layernorm-avgpool-gelu", {0.75, 0.85}},
        {"conv-transpose2d-softmax-biasadd-scaling-sigmoid", {0.80, 0.80}},
        {"conv-transpose3d-layernorm-gelu-scaling", {0.75, 0.85}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].slug, slug) == 0)
            return known[i].bars;
    return (bars){1, 0};
}

bool measured(const results *r, size_t op) {
    return r->ours[op][UC_F32].chain != NULL;
}

double gflops(const subject *s, double seconds) {
    return 1e-9 * s->flops / seconds;
}

double fraction_of_peak(const results *r, size_t op) {
    const subject *s = &r->ours[op][UC_F32];
    return gflops(s, s->one_shot) / r->machine.gflops_f32;
}

double bare_seconds(const results *r, size_t op) {
    double least = INFINITY;
    for (size_t i = 0; i < r->peer_count; i++)
        if (r->peers[i].bare && r->peer_seconds[i][op] < least)
            least = r->peer_seconds[i][op];
    return least;
}

double bare_ratio(const results *r, size_t op) {
    return r->ours[op][UC_F32].one_shot / bare_seconds(r, op);
}

double speed_by_f32(const results *r, size_t op, uc_dtype dtype) {
    const subject *s = &r->ours[op][dtype];
    return s->chain ? r->ours[op][UC_F32].one_shot / s->one_shot : 0;
}

bool all_met(const results *r) {
    bool met = true;
    for (size_t op = 0; op < OPERATORS; op++) {
        if (!measured(r, op))
            continue;
        const subject *s = &r->ours[op][UC_F32];
        const bars bar = bars_of(s->slug);
        met = met && bare_ratio(r, op) <= bar.bare_ratio && fraction_of_peak(r, op) >= bar.peak &&
              s->create / s->one_shot <= BAR_PACKING && speed_by_f32(r, op, UC_F64) >= BAR_F64 &&
              speed_by_f32(r, op, UC_F16) >= BAR_HALF && speed_by_f32(r, op, UC_BF16) >= BAR_HALF;
    }
    return met;
}
