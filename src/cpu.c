/* Which instruction sets this CPU has, and which one to use.
 * Called by plan.c and amx.c. */
#define _DEFAULT_SOURCE /* for syscall() */
#include "cpu.h"

#include <stdlib.h>
#include <string.h>

#include "status.h"

/* UC_AVX2 and UC_AVX512 say that this build has their kernels (UPCONV_ISAS in CMakeLists.txt). */
#if defined(UC_AVX2) || defined(UC_AVX512)
#define WIDER 1
#else
#define WIDER 0
#endif

#if WIDER && !defined(UC_EMULATE)
#include <cpuid.h>
#include <stdatomic.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

static bool always(void) {
    return true;
}

#if defined(UC_EMULATE)
#define has_avx2 always
#define has_avx512 always
#define has_amx always
#elif WIDER
/* The answer is kept, whoever asks first: virtual machines take 10 us for it. */
static bool remember(atomic_int *known, bool (*ask)(void)) { /* 0: not yet, 1: no, 2: yes */
    int answer = atomic_load_explicit(known, memory_order_relaxed);
    if (!answer) {
        answer = ask() ? 2 : 1;
        atomic_store_explicit(known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

/* clang's __builtin_cpu_supports does not know it. */
static bool ask_f16c(void) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & bit_F16C;
}

static bool has_f16c(void) {
    static atomic_int known;
    return remember(&known, ask_f16c);
}

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}

#if defined(UC_AVX512)
static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

#if defined(__linux__)
/* Of XCR0, what the system saves of a thread: the tiles' configuration, and the tiles. */
#define TILE_CONFIG_STATE 17
#define TILE_STATE 18

/* arch_prctl()'s ARCH_REQ_XCOMP_PERM: without it Linux ends whoever touches a tile. */
#define REQUEST_PERMISSION 0x1023

static bool ask_amx(void) {
    const unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24, both = amx_bf16 | amx_tile;
    const unsigned states = 1u << TILE_CONFIG_STATE | 1u << TILE_STATE;
    unsigned eax, ebx, ecx, edx, state, high;
    if (!has_avx512() || !__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE) ||
        !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & both) != both)
        return false;
    __asm__ volatile("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
    return (state & states) == states &&
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_STATE) == 0;
}
#else
static bool ask_amx(void) { /* nobody has tried it elsewhere */
    return false;
}
#endif

static bool has_amx(void) {
    static atomic_int known;
    return remember(&known, ask_amx);
}
#endif /* UC_AVX512 */
#endif /* WIDER */

/* From the plainest to the best. */
static const struct {
    const char *name;
    uc_isa isa;
    bool (*there)(void);
    const uc_kernels *f32, *f64;
} sets[] = {
    {"portable", UC_ISA_PORTABLE, always, &uc_kernels_portable_f32, &uc_kernels_portable_f64},
#if defined(UC_AVX2)
    {"avx2", UC_ISA_AVX2, has_avx2, &uc_kernels_avx2_f32, &uc_kernels_avx2_f64},
#endif
#if defined(UC_AVX512)
    {"avx512", UC_ISA_AVX512, has_avx512, &uc_kernels_avx512_f32, &uc_kernels_avx512_f64},
#endif
};

#define SET_COUNT (sizeof sets / sizeof *sets)

uc_status uc_cpu_kernels(uc_isa isa, uc_dtype dtype, const uc_kernels **kernels) {
    const char *named = getenv("UPCONV_ISA");
    const bool forced = isa == UC_ISA_AUTO && named && *named && strcmp(named, "auto") != 0;
    size_t best = SET_COUNT;
    for (size_t i = 0; i < SET_COUNT; i++) {
        const bool meant = forced ? !strcmp(named, sets[i].name) : isa == sets[i].isa;
        if (meant && !sets[i].there())
            return uc_fail(UC_UNSUPPORTED, "this CPU does not have %s%s", sets[i].name,
                           forced ? " (UPCONV_ISA names it)" : "");
        if (meant || (!forced && isa == UC_ISA_AUTO && sets[i].there()))
            best = i;
    }
    if (best == SET_COUNT)
        return forced ? uc_fail(UC_UNSUPPORTED,
                                "UPCONV_ISA must be auto, portable, avx2 or avx512, and one that "
                                "this build has (got '%.40s')",
                                named)
                      : uc_fail(UC_UNSUPPORTED, "this build has no kernels for options.isa %d",
                                (int)isa);
    *kernels = dtype == UC_F64 ? sets[best].f64 : sets[best].f32;
    return UC_OK;
}

bool uc_cpu_goes_with_amx(const uc_kernels *kernels) {
#if defined(UC_AVX512)
    return kernels == &uc_kernels_avx512_f32;
#else
    (void)kernels;
    return false;
#endif
}

const uc_amx_kernels *uc_cpu_amx(void) {
#if defined(UC_AVX512)
    return has_amx() ? &uc_kernels_amx : NULL;
#else
    return NULL;
#endif
}

void uc_cpu_print_rejected(const uc_kernels *chosen, FILE *file) {
    bool before = true; /* the chosen one */
    for (size_t i = 0; i < SET_COUNT; i++) {
        if (chosen == sets[i].f32 || chosen == sets[i].f64) {
            before = false;
            continue;
        }
        const char *reason = "it was not asked for";
        if (!sets[i].there())
            reason = "this CPU does not have it";
        else if (before)
            reason = "wider vectors are there";
        fprintf(file, "rejected:  %s kernels: %s\n", sets[i].name, reason);
    }
}
