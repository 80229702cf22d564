/* The peers of `upconv bench`: which there are, and their turns.
 * Called by bench.c. */
#define _GNU_SOURCE
#include "bench.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Peers that do the whole operator take most of the time. */
#define WHOLE_PEERS_EVERY 4
#define MOST_COMMAND 4096

static void start(bench *b, const char *command) {
    if (b->peer_count == BENCH_MOST_PEERS) {
        fprintf(stderr, "upconv: more than %d peers; without '%s'\n", BENCH_MOST_PEERS, command);
        return;
    }
    peer *p = &b->peers[b->peer_count];
    cli_progress("starting a peer: %.60s", command);
    const bool good = peer_start(p, command);
    cli_progress(NULL);
    if (good) {
        b->pids[b->peer_count++] = (int)p->pid;
        cli_remember_child((int)p->pid);
    } else {
        fprintf(stderr, "upconv: without the peer '%s': %s\n", command, p->failure);
    }
}

/* A build folder has a script beside the command that prints how to start each peer that is
 * installed there, one a line. An installed command has none. */
static bool find_script(char path[PATH_MAX + 16]) {
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length <= 0)
        return false;
    path[length] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    strcpy(slash + 1, "find-peers");
    return access(path, X_OK) == 0;
}

static void find(bench *b) {
    char path[PATH_MAX + 16], quoted[PATH_MAX + 32], command[MOST_COMMAND];
    if (!find_script(path) || strchr(path, '\''))
        return;
    snprintf(quoted, sizeof quoted, "'%s'", path);
    cli_progress("looking for peers");
    FILE *list = popen(quoted, "r");
    while (list && fgets(command, sizeof command, list)) {
        command[strcspn(command, "\n")] = 0;
        if (command[0])
            start(b, command);
    }
    if (list)
        pclose(list);
    cli_progress(NULL);
}

void bench_peers_start(bench *b, bool find_installed, const char *const commands[], size_t count) {
    if (find_installed) {
        find(b);
        if (!b->peer_count)
            fprintf(stderr,
                    "upconv: no peers found. 'make peers' in the source folder installs them, and "
                    "'build/upconv bench --peers' then finds them; --peer COMMAND adds one of your "
                    "own\n");
    }
    for (size_t i = 0; i < count; i++)
        start(b, commands[i]);
}

/* They know the five operators in f32, with the same size in every dimension. */
static bool can_ask(const bench_case *c) {
    const uc_operator_params *p = &c->t.params;
    const bool flat = !p->depth;
    return c->t.slug && uc_chain_dtype(c->t.chain) == UC_F32 && p->kernel_h == p->kernel_w &&
           p->stride_h == p->stride_w && p->padding_h == p->padding_w &&
           p->output_padding_h == p->output_padding_w &&
           (flat || (p->kernel_d == p->kernel_w && p->stride_d == p->stride_w &&
                     p->padding_d == p->padding_w && p->output_padding_d == p->output_padding_w));
}

bool bench_peers_run(bench *b, bench_case *c, size_t round) {
    if (!can_ask(c))
        return false;
    for (size_t i = 0; i < b->peer_count; i++) {
        if (!b->peers[i].bare && round % WHOLE_PEERS_EVERY)
            continue;
        for (size_t run = 0; run < BENCH_RUNS_PER_TURN; run++) {
            const double seconds = peer_run(&b->peers[i], c->t.slug, &c->t.params);
            samples *s = &c->peers[i];
            if (!b->peers[i].alive) /* waited for: its number may belong to others now */
                cli_forget_child(b->pids[i]);
            if (seconds > 0 && s->count < s->room)
                s->seconds[s->count++] = seconds;
        }
    }
    return true;
}

void bench_peers_end(bench *b) {
    for (size_t i = 0; i < b->peer_count; i++) {
        if (b->peers[i].failure[0])
            fprintf(stderr, "upconv: %s: %s\n", b->peers[i].name, b->peers[i].failure);
        peer_end(&b->peers[i]);
        cli_forget_child(b->pids[i]);
    }
}
