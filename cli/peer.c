/* Peers: other people's implementations, each in a process of its own that runs when it is asked.
 * Called by bench --peers and by bench/bench.c. */
#define _GNU_SOURCE
#include "peer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 300000 /* for imports and compilation; a peer that takes longer hangs */

static void become(const char *command, const int in[2], const int out[2]) {
    setpgid(0, 0); /* stopped and ended as a group, with the helpers it starts */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* The next line, without its end. A peer that says nothing any more is dead. */
static bool listen_to(peer *p, char *line, size_t bytes) {
    struct pollfd waiting = {.fd = fileno(p->from), .events = POLLIN};
    if (poll(&waiting, 1, PATIENCE_MS) == 1 && fgets(line, (int)bytes, p->from)) {
        line[strcspn(line, "\n")] = 0;
        return true;
    }
    snprintf(p->failure, sizeof p->failure, "it stopped answering");
    p->alive = false;
    return false;
}

bool peer_start(peer *p, const char *command) {
    int in[2], out[2];
    *p = (peer){0};
    signal(SIGPIPE, SIG_IGN); /* one that died is found out by reading */
    snprintf(p->name, sizeof p->name, "%.63s", command);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || (p->pid = fork()) < 0) {
        snprintf(p->failure, sizeof p->failure, "no process or pipe to be had");
        return false;
    }
    if (p->pid == 0)
        become(command, in, out);
    setpgid(p->pid, p->pid); /* whoever comes first */
    close(in[0]);
    close(out[1]);
    p->to = fdopen(in[1], "w");
    p->from = fdopen(out[0], "r");
    p->alive = true;

    char line[160], kind[8];
    if (!listen_to(p, line, sizeof line)) {
        peer_end(p);
        return false;
    }
    if (sscanf(line, "%7s %63[^\n]", kind, p->name) != 2 ||
        (strcmp(kind, "bare") && strcmp(kind, "whole"))) {
        snprintf(p->failure, sizeof p->failure, "%.159s", line);
        peer_end(p);
        return false;
    }
    p->bare = strcmp(kind, "bare") == 0;
    kill(-p->pid, SIGSTOP);
    return true;
}

static void ask(FILE *to, const char *slug, const uc_operator_params *p) {
    fprintf(to, "%s batch_size=%zu in_channels=%zu out_channels=%zu", slug, p->batch_size,
            p->in_channels, p->out_channels);
    fprintf(to, " depth=%zu height=%zu width=%zu", p->depth, p->height, p->width);
    fprintf(to, " kernel=%zu stride=%zu padding=%zu output_padding=%zu", p->kernel_w, p->stride_w,
            p->padding_w, p->output_padding_w);
    fprintf(to, " pool_kernel=%zu clamp_min=%g clamp_max=%g sum_weight=%g scaling_factor=%g\n",
            p->pool_kernel, p->clamp_min, p->clamp_max, p->sum_weight, p->scaling_factor);
    fflush(to);
}

double peer_run(peer *p, const char *slug, const uc_operator_params *params) {
    char line[160], *end;
    if (!p->alive)
        return -1;
    kill(-p->pid, SIGCONT);
    ask(p->to, slug, params);
    if (!listen_to(p, line, sizeof line)) {
        peer_end(p);
        return -1;
    }
    kill(-p->pid, SIGSTOP);
    const double seconds = strtod(line, &end);
    if (end != line && !*end)
        return seconds;
    snprintf(p->failure, sizeof p->failure, "%.159s", line);
    return -1;
}

void peer_end(peer *p) {
    p->alive = false;
    if (p->to)
        fclose(p->to);
    if (p->from)
        fclose(p->from);
    p->to = p->from = NULL;
    if (p->pid > 0) {
        kill(-p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
    }
    p->pid = 0;
}
