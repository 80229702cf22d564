/* The results as tables that a person reads.
 * Called by bench.c at the end. */
#include <math.h>

#include "results.h"

#define SLUG "%-49s"

static const char *mark(bool met) {
    return met ? "PASS" : "below";
}

static void print_machine(const results *r) {
    const machine *m = &r->machine;
    printf("%s, %s, %zu threads; batch %zu; minimum of %zu interleaved repetitions\n",
           machine_cpu(), machine_isa(), r->threads, r->batch, r->repetitions);
    printf("FMA peak: f32 %.1f GFLOP/s, f64 %.1f. Memory: read %.1f GB/s, write %.1f, write past "
           "the cache %.1f\n",
           m->gflops_f32, m->gflops_f64, m->read_gbs, m->write_gbs, m->nt_write_gbs);
}

static void print_ours(const results *r) {
    printf("\n" SLUG " %9s %9s %8s %6s %-7s %8s %6s\n", "upconv, f32", "call ms", "plan ms",
           "GFLOP/s", "peak", "  bar", "packing", "bar");
    for (size_t op = 0; op < OPERATORS; op++) {
        if (!measured(r, op))
            continue;
        const subject *s = &r->ours[op][UC_F32];
        const double peak = fraction_of_peak(r, op), bar = bars_of(s->slug).peak;
        const double packing = s->create / s->one_shot;
        printf(SLUG " %9.2f %9.2f %8.1f %5.1f%% %3.0f%% %-5s %5.1f%% %3.0f%% %s\n", s->slug,
               s->one_shot * 1e3, s->execute * 1e3, gflops(s, s->one_shot), peak * 100, bar * 100,
               mark(peak >= bar), packing * 100, BAR_PACKING * 100, mark(packing <= BAR_PACKING));
    }
}

static void print_ratios(const results *r) {
    printf("\n" SLUG " %9s %9s %7s %5s\n", "whole operator by oneDNN's bare convolution", "ours ms",
           "bare ms", "ratio", "bar");
    for (size_t op = 0; op < OPERATORS; op++) {
        if (!measured(r, op))
            continue;
        const subject *s = &r->ours[op][UC_F32];
        const double ratio = bare_ratio(r, op), bar = bars_of(s->slug).bare_ratio;
        if (isfinite(bare_seconds(r, op)))
            printf(SLUG " %9.2f %9.2f %7.3f %5.2f %s\n", s->slug, s->one_shot * 1e3,
                   bare_seconds(r, op) * 1e3, ratio, bar, mark(ratio <= bar));
        else
            printf(SLUG " %9.2f %9s %7s %5.2f no oneDNN: make peers\n", s->slug, s->one_shot * 1e3,
                   "-", "-", bar);
    }
}

static void print_dtypes(const results *r) {
    printf("\n" SLUG " %9s %13s %9s %13s %9s %13s\n", "other element types, by f32's speed",
           "f64 ms", "bar 0.45", "f16 ms", "bar 0.95", "bf16 ms", "bar 0.95");
    for (size_t op = 0; op < OPERATORS; op++) {
        if (!measured(r, op))
            continue;
        printf(SLUG, r->ours[op][UC_F32].slug);
        for (size_t dtype = UC_F64; dtype < DTYPES; dtype++) {
            const double speed = speed_by_f32(r, op, (uc_dtype)dtype);
            printf(" %9.2f %7.2f %-5s", r->ours[op][dtype].one_shot * 1e3, speed,
                   mark(speed >= (dtype == UC_F64 ? BAR_F64 : BAR_HALF)));
        }
        printf("\n");
    }
}

static void print_peers(const results *r) {
    printf("\n%-30s", "milliseconds");
    for (size_t op = 0; op < OPERATORS; op++)
        if (measured(r, op))
            printf(" %13.13s", r->ours[op][UC_F32].slug + sizeof "conv-transpose" - 1);
    printf("\n%-30s", "upconv, the call");
    for (size_t op = 0; op < OPERATORS; op++)
        if (measured(r, op))
            printf(" %13.2f", r->ours[op][UC_F32].one_shot * 1e3);
    printf("\n");
    for (size_t i = 0; i < r->peer_count; i++) {
        const peer *p = &r->peers[i];
        printf("%-24.24s %-5s", p->name, p->bare ? "bare" : "whole");
        for (size_t op = 0; op < OPERATORS; op++)
            if (measured(r, op) && isfinite(r->peer_seconds[i][op]))
                printf(" %13.2f", r->peer_seconds[i][op] * 1e3);
            else if (measured(r, op))
                printf(" %13s", "-");
        printf("%s%s\n", p->failure[0] ? "  " : "", p->failure);
    }
}

void print_tables(const results *r) {
    print_machine(r);
    print_ours(r);
    print_ratios(r);
    print_dtypes(r);
    print_peers(r);
}
