/* The benchmark: this machine, our five operators and the peers, interleaved, with the bars.
 * Called by bench/run.sh, which finds the peers; `make bench` is that. */
#define _GNU_SOURCE
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results.h"
#include "threads.h"
#include "timer.h"

static const char help[] =
    "Usage: bench [--threads N] [--batch N] [--repetitions N] [--only TEXT] [--json FILE]\n"
    "             [--peer COMMAND]... [--strict]\n\n"
    "Measures this machine's arithmetic peak and bandwidth, the five operators, and the peers, "
    "all\n"
    "in turn, again and again, and keeps the least time of each.\n\n"
    "  --threads N      threads and cores for everything (default 2)\n"
    "  --batch N        batch size (default 2)\n"
    "  --repetitions N  rounds (default 20; whole peers take part in every fourth)\n"
    "  --only TEXT      only operators with this in their name\n"
    "  --json FILE      write the results there too\n"
    "  --peer COMMAND   one more peer (cli/peer.h has the protocol)\n"
    "  --strict         exit with 1 if a bar is not met\n\n"
    "Example: build/bench/bench --only layernorm --repetitions 5\n";

/* Whoever follows another finds the caches full of strange data: the second run counts too. */
#define RUNS_PER_TURN 2

/* No bar hangs on the peers that do the whole operator, and they take most of the time. */
#define WHOLE_PEERS_EVERY 4

/* A peak that something disturbed would flatter us; few rounds have few tries at it. */
#define PEAKS_AT_START 20

/* A line that is replaced by the next one, on a terminal only. */
static void progress(const char *what, size_t now_at, size_t of, const char *which) {
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s %zu of %zu: %-56.56s", what, now_at, of, which);
}

static bool failed(const char *what) {
    fprintf(stderr, "bench: %s: %s\n", what, uc_last_error()[0] ? uc_last_error() : "no memory");
    return false;
}

static bool open_all(results *r) {
    for (size_t op = 0; op < OPERATORS && op < uc_operator_count(); op++) {
        const char *slug = uc_operator_slug(op);
        uc_operator_params params;
        if (r->only && !strstr(slug, r->only))
            continue;
        if (uc_operator_defaults(slug, &params) != UC_OK)
            return failed(slug);
        params.batch_size = r->batch;
        for (size_t dtype = 0; dtype < DTYPES; dtype++)
            if (!subject_open(&r->ours[op][dtype], slug, (uc_dtype)dtype, &params, r->threads))
                return failed(slug);
    }
    return true;
}

static bool turn_of_ours(subject *all) {
    subject *f32 = &all[UC_F32];
    bool good = true;
    for (size_t i = 0; i < RUNS_PER_TURN; i++)
        good = good && subject_one_shot(f32);
    for (size_t i = 0; i < RUNS_PER_TURN; i++)
        good = good && subject_execute(f32);
    good = good && subject_create(f32);
    for (size_t dtype = UC_F64; dtype < DTYPES; dtype++)
        for (size_t i = 0; i < RUNS_PER_TURN; i++)
            good = good && subject_one_shot(&all[dtype]);
    return good;
}

static void turn_of_peers(results *r, size_t op, size_t round) {
    const subject *s = &r->ours[op][UC_F32];
    for (size_t i = 0; i < r->peer_count; i++) {
        if (!r->peers[i].bare && round % WHOLE_PEERS_EVERY)
            continue;
        for (size_t run = 0; run < RUNS_PER_TURN; run++) {
            const double seconds = peer_run(&r->peers[i], s->slug, &s->params);
            if (seconds > 0)
                keep_least(&r->peer_seconds[i][op], seconds);
        }
    }
}

static bool measure(results *r) {
    for (size_t i = 0; i < PEAKS_AT_START; i++)
        machine_peaks(&r->machine, r->threads);
    for (size_t round = 0; round < r->repetitions; round++) {
        progress("round", round + 1, r->repetitions, "memory");
        machine_bandwidth(&r->machine, r->threads);
        for (size_t op = 0; op < OPERATORS; op++) {
            if (!measured(r, op))
                continue;
            progress("round", round + 1, r->repetitions, uc_operator_slug(op));
            machine_peaks(&r->machine, r->threads);
            if (!turn_of_ours(r->ours[op]))
                return failed(uc_operator_slug(op));
            settle();
            turn_of_peers(r, op, round);
        }
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%80s\r", "");
    return true;
}

static bool usage(const char *what, const char *value) {
    fprintf(stderr, "bench: %s%s\n'bench --help' shows the options\n", what, value);
    return false;
}

static bool set_count(size_t *count, const char *text) {
    return (*count = count_of(text)) > 0 || usage("not a count: ", text);
}

typedef struct settings {
    const char *json, *peers[MAX_PEERS];
    size_t peer_count;
    bool strict, help;
} settings;

static bool read_options(int argc, char **argv, results *r, settings *with) {
    static const struct option options[] = {{"threads", required_argument, NULL, 't'},
                                            {"batch", required_argument, NULL, 'b'},
                                            {"repetitions", required_argument, NULL, 'r'},
                                            {"only", required_argument, NULL, 'o'},
                                            {"json", required_argument, NULL, 'j'},
                                            {"peer", required_argument, NULL, 'p'},
                                            {"strict", no_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    bool good = true;
    for (int option; good && (option = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        switch (option) {
        case 't':
            good = set_count(&r->threads, optarg);
            break;
        case 'b':
            good = set_count(&r->batch, optarg);
            break;
        case 'r':
            good = set_count(&r->repetitions, optarg);
            break;
        case 'o':
            r->only = optarg;
            break;
        case 'j':
            with->json = optarg;
            break;
        case 'p':
            if (with->peer_count == MAX_PEERS)
                good = usage("too many peers; this one doesn't fit: ", optarg);
            else
                with->peers[with->peer_count++] = optarg;
            break;
        case 's':
            with->strict = true;
            break;
        case 'h':
            with->help = true;
            break;
        default:
            good = usage("that is not an option", "");
        }
    return good && (optind == argc || usage("one argument too many: ", argv[optind]));
}

/* Those that can't be started are named and left out. */
static void start_peers(results *r, const settings *with) {
    for (size_t i = 0; i < with->peer_count; i++) {
        peer *p = &r->peers[r->peer_count];
        progress("starting peer", i + 1, with->peer_count, with->peers[i]);
        if (peer_start(p, with->peers[i]))
            r->peer_count++;
        else
            fprintf(stderr, "bench: without the peer '%s': %s\n", with->peers[i], p->failure);
    }
    for (size_t i = 0; i < MAX_PEERS; i++)
        for (size_t op = 0; op < OPERATORS; op++)
            r->peer_seconds[i][op] = INFINITY;
}

int main(int argc, char **argv) {
    static results r = {.threads = 2, .batch = 2, .repetitions = 20};
    settings with = {0};
    if (!read_options(argc, argv, &r, &with))
        return 2;
    if (with.help) {
        fputs(help, stdout);
        return 0;
    }
    if (!use_threads(r.threads)) {
        usage("not enough cores, or no OpenMP; try --threads 1", "");
        return 2;
    }
    start_peers(&r, &with);
    const bool good = open_all(&r) && measure(&r);
    if (good)
        print_tables(&r);
    const bool written = !good || !with.json || write_json(&r, with.json);
    if (!written)
        perror(with.json);
    const bool met = !with.strict || all_met(&r);
    for (size_t i = 0; i < r.peer_count; i++)
        peer_end(&r.peers[i]);
    for (size_t op = 0; op < OPERATORS; op++)
        for (size_t dtype = 0; dtype < DTYPES; dtype++)
            subject_close(&r.ours[op][dtype]);
    return good && written && met ? 0 : 1;
}
