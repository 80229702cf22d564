/* The judge's side of the solution's process: starts it, gives orders, waits, ends it.
 * Called by judge_test.c and judge_timing.c. */
#define _GNU_SOURCE
#include "judge.h"
#include "timer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- What it says ----------------------------------------------------------------------- */

/* Reads what is there; false at the end of the file. */
static bool read_said(child *c) {
    char more[4096];
    const ssize_t bytes = read(c->out, more, sizeof more);
    if (bytes <= 0)
        return bytes < 0 && (errno == EAGAIN || errno == EINTR);
    size_t room = sizeof c->said - 1 - c->said_bytes;
    room = room < (size_t)bytes ? room : (size_t)bytes;
    memcpy(c->said + c->said_bytes, more, room);
    c->said_bytes += room;
    c->said_more += (size_t)bytes - room;
    c->said[c->said_bytes] = 0;
    return true;
}

/* The solution may have written into the pipe as well: a record begins where the nonce is. */
static bool next_record(child *c) {
    const unsigned char *found = memmem(c->unread, c->unread_bytes, c->nonce, sizeof c->nonce);
    if (!found) {
        if (c->unread_bytes >= sizeof c->unread) { /* keep what may be the nonce's beginning */
            memmove(c->unread, c->unread + c->unread_bytes - NONCE_BYTES, NONCE_BYTES);
            c->unread_bytes = NONCE_BYTES;
        }
        return false;
    }
    const size_t before = (size_t)(found - c->unread);
    memmove(c->unread, found, c->unread_bytes -= before);
    if (c->unread_bytes < sizeof c->record)
        return false;
    memcpy(&c->record, c->unread, sizeof c->record);
    c->record.text[sizeof c->record.text - 1] = 0;
    memmove(c->unread, c->unread + sizeof c->record, c->unread_bytes -= sizeof c->record);
    return true;
}

static bool read_records(child *c) {
    const ssize_t bytes =
        read(c->records, c->unread + c->unread_bytes, sizeof c->unread - c->unread_bytes);
    if (bytes > 0)
        c->unread_bytes += (size_t)bytes;
    return bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR));
}

/* It has closed the records: it has ended, or is about to. */
static child_event why_ended(child *c, double deadline) {
    while (!c->has_ended && now() < deadline) {
        c->has_ended = waitpid(c->pid, &c->status, WNOHANG) == c->pid;
        if (!c->has_ended)
            settle();
    }
    if (!c->has_ended)
        return CHILD_TIMED_OUT;
    return WIFSIGNALED(c->status) ? CHILD_DIED : CHILD_EXITED;
}

/* Waits for a record of a kind. */
static child_event wait_for(child *c, record_kind kind, double deadline) {
    for (;;) {
        while (next_record(c)) {
            if (c->record.kind == kind)
                return CHILD_GOOD;
            if (c->record.kind == RECORD_NOT_LOADED)
                return CHILD_NOT_LOADED;
            if (c->record.kind == RECORD_FAULT)
                return why_ended(c, deadline);
        }
        const double left = deadline - now();
        if (left <= 0)
            return CHILD_TIMED_OUT;
        struct pollfd files[] = {{c->records, POLLIN, 0}, {c->out, POLLIN, 0}};
        if (poll(files, c->out < 0 ? 1 : 2, left > 1 ? 1000 : 1 + (int)(left * 1e3)) <= 0)
            continue;
        if (files[1].revents && !read_said(c)) {
            close(c->out);
            c->out = -1;
        }
        if (files[0].revents && !read_records(c))
            return why_ended(c, deadline);
    }
}

/* ---- Starting and ending ---------------------------------------------------------------- */

typedef struct pipes {
    int orders[2], records[2], out[2];
} pipes;

/* All three or none; far away from the numbers that the new process gives them. */
static bool open_pipes(pipes *p) {
    int *const all[] = {p->orders, p->records, p->out};
    for (size_t i = 0; i < 3; i++)
        if (pipe2(all[i], O_CLOEXEC) != 0) {
            while (i-- > 0) {
                close(all[i][0]);
                close(all[i][1]);
            }
            return false;
        }
    return true;
}

/* In the new process, before it becomes the one of judge_child.c. */
static void become_child(const judge_settings *with, const pipes *p, const arena *a) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Those that may lie where others go, first out of the way. */
    const int files[] = {
        open("/dev/null", O_RDONLY), p->out[1], p->out[1], a->file, p->orders[0], p->records[1]};
    int far[6];
    for (int i = 0; i < 6; i++)
        if ((far[i] = fcntl(files[i], F_DUPFD, 64)) < 0)
            _exit(EXIT_USAGE);
    for (int i = 0; i < 6; i++)
        if (dup2(far[i], i) < 0)
            _exit(EXIT_USAGE);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    char *arguments[] = {"upconv", "judge-child", (char *)(uintptr_t)with->library,
                         (char *)(uintptr_t)with->symbol, NULL};
    execv("/proc/self/exe", arguments);
    _exit(EXIT_USAGE);
}

static bool send_all(int file, const void *what, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t sent = write(file, (const char *)what + done, bytes - done);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        done += (size_t)sent;
    }
    return true;
}

child_event child_start(child *c, const judge_settings *with, const arena *a, double time_limit) {
    pipes p;
    *c = (child){.orders = -1, .records = -1, .out = -1};
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* what the solution starts becomes ours when it ends */
    if (!open_pipes(&p))
        return CHILD_FAILED;
    c->pid = cli_fork();
    if (c->pid == 0)
        become_child(with, &p, a);
    close(p.orders[0]);
    close(p.records[1]);
    close(p.out[1]);
    c->orders = p.orders[1];
    c->records = p.records[0];
    c->out = p.out[0];
    if (c->pid < 0) {
        c->has_ended = true;
        return CHILD_FAILED;
    }
    fcntl(c->records, F_SETFL, O_NONBLOCK);
    fcntl(c->out, F_SETFL, O_NONBLOCK);

    child_opening opening = {.memory_limit_bytes = with->memory_limit_mib << 20};
    if (opening.memory_limit_bytes)
        opening.memory_limit_bytes += 2 * a->bytes;
    for (size_t i = 0; i < NONCE_BYTES; i += sizeof(uint64_t)) {
        const uint64_t part = rng_fresh_seed();
        memcpy(opening.nonce + i, &part, sizeof part);
    }
    memcpy(c->nonce, opening.nonce, NONCE_BYTES);
    send_all(c->orders, &opening, sizeof opening); /* if it has died, wait_for() says so */
    return wait_for(c, RECORD_LOADED, now() + time_limit);
}

child_event child_call(child *c, size_t round, double time_limit, double *seconds) {
    const double start = now();
    send_all(c->orders, &round, sizeof round);
    child_event event = wait_for(c, RECORD_DONE, start + time_limit);
    *seconds = now() - start;
    if (event == CHILD_GOOD)
        event = wait_for(c, RECORD_THREADS, now() + time_limit);
    c->threads = c->record.threads;
    return event;
}

/* Processes that left the group become our children: none may stay. */
static void end_strays(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int tries = 0; tries < 100; tries++) {
        FILE *file = fopen(path, "r");
        int pid, found = 0;
        while (file && fscanf(file, "%d", &pid) == 1) {
            kill(pid, SIGKILL);
            found++;
        }
        if (file)
            fclose(file);
        if (!found)
            return;
        while (waitpid(-1, NULL, 0) > 0)
            ;
    }
}

void child_end(child *c) {
    if (c->pid > 0) {
        kill(-c->pid, SIGKILL);
        if (!c->has_ended) {
            kill(c->pid, SIGKILL);
            waitpid(c->pid, &c->status, 0);
        }
        cli_forget_child(c->pid);
        end_strays();
    }
    for (struct pollfd file = {c->out, POLLIN, 0}; c->out >= 0 && poll(&file, 1, 0) > 0;)
        if (!read_said(c))
            break;
    if (c->out >= 0)
        close(c->out);
    close(c->orders);
    close(c->records);
}
