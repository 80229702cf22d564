/* What must not outlive the command: temporary files and children, also when it is interrupted.
 * Called by main.c once, and by the subcommands that make such things. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A signal may come at any moment, so the handler reads nothing but these, and an entry is made
 * complete before it is made visible. */
static char files[CLI_MOST_CLEANUPS][PATH_MAX];
static volatile sig_atomic_t is_file[CLI_MOST_CLEANUPS], children[CLI_MOST_CLEANUPS];
static pid_t owner; /* a forked child must not remove its parent's files */

/* A file, or a folder with the files in it. */
static void remove_path(const char *path) {
    if (unlink(path) == 0)
        return;
    DIR *folder = opendir(path);
    if (!folder)
        return;
    /* What we have just ended may have made one more file meanwhile. */
    for (int tries = 0; tries < 5; tries++) {
        for (const struct dirent *entry; (entry = readdir(folder));)
            unlinkat(dirfd(folder), entry->d_name, 0);
        if (rmdir(path) == 0)
            break;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        rewinddir(folder);
    }
    closedir(folder);
}

static void end_children(void) {
    for (size_t i = 0; i < CLI_MOST_CLEANUPS; i++)
        if (children[i] > 0) {
            kill(-(pid_t)children[i], SIGKILL);
            kill((pid_t)children[i], SIGKILL);
        }
}

static void clean_up(void) {
    if (getpid() != owner)
        return;
    end_children();
    for (size_t i = 0; i < CLI_MOST_CLEANUPS; i++)
        if (is_file[i])
            remove_path(files[i]);
}

static void on_signal(int number) {
    if (getpid() == owner) {
        end_children();
        for (size_t i = 0; i < CLI_MOST_CLEANUPS; i++)
            if (is_file[i] && unlink(files[i]) != 0) {
                /* A folder. A signal handler may not read one; a new process may: nothing of what
                 * the signal interrupted goes on in it. */
                const pid_t remover = fork();
                if (remover == 0) {
                    remove_path(files[i]);
                    _exit(0);
                }
                waitpid(remover, NULL, 0);
            }
    }
    signal(number, SIG_DFL);
    raise(number);
}

void cli_catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    owner = getpid();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = {.sa_handler = on_signal}, old;
        sigemptyset(&action.sa_mask);
        /* What nohup ignores stays ignored. */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    atexit(clean_up);
}

bool cli_remember_file(const char *path) {
    for (size_t i = 0; i < CLI_MOST_CLEANUPS; i++)
        if (!is_file[i] && strlen(path) < sizeof files[i]) {
            strcpy(files[i], path);
            is_file[i] = 1;
            return true;
        }
    return false;
}

void cli_forget_file(const char *path) {
    for (size_t i = 0; i < CLI_MOST_CLEANUPS; i++)
        if (is_file[i] && strcmp(files[i], path) == 0)
            is_file[i] = 0;
}

void cli_remove_file(const char *path) {
    remove_path(path);
    cli_forget_file(path);
}

bool cli_remember_child(int pid) {
    for (size_t i = 0; i < CLI_MOST_CLEANUPS; i++)
        if (!children[i]) {
            children[i] = pid;
            return true;
        }
    return false;
}

int cli_fork(void) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid > 0)
        cli_remember_child((int)pid);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return (int)pid;
}

void cli_forget_child(int pid) {
    for (size_t i = 0; i < CLI_MOST_CLEANUPS; i++)
        if (children[i] == pid)
            children[i] = 0;
}
