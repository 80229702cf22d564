/* Progress while a single long call runs: a thread that says how long it has taken so far.
 * Called by run. */
#define _POSIX_C_SOURCE 200809L
#include "ticker.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "timer.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stopped = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool running, stop;
static const char *what;
static double start, expected;

static void show(double elapsed) {
    if (expected > elapsed + 1)
        cli_progress("%s: %.0f s, about %.0f s left", what, elapsed, expected - elapsed);
    else
        cli_progress("%s: %.0f s", what, elapsed);
}

static void *tick(void *unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    while (!stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&stopped, &mutex, &until);
        if (!stop)
            show(now() - start);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

void ticker_start(const char *of, double guess) {
    if (!isatty(STDERR_FILENO))
        return;
    what = of;
    expected = guess;
    start = now();
    stop = false;
    /* Signals are for the main thread: it knows what to clean up. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    running = pthread_create(&thread, NULL, tick, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ticker_stop(void) {
    if (!running)
        return;
    pthread_mutex_lock(&mutex);
    stop = true;
    pthread_cond_signal(&stopped);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    running = false;
    cli_progress(NULL);
}
