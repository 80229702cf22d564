/* The process that runs the solution: few rights, guarded memory, and nothing of the judge's own.
 * Started by judge_host.c, by way of main.c; it is the same program, executed anew. */
#define _GNU_SOURCE
#include "judge.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* AddressSanitizer reserves terabytes of addresses: no limit can hold them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

/* A tensor as the solution sees it: guard page, pages, guard page. */
typedef struct guarded {
    unsigned char *guard;
    size_t guard_bytes, pages_bytes;
    void *tensor;
    size_t bytes;
} guarded;

static arena_header header;
static guarded blocks[ARENA_MOST_BLOCKS];
static unsigned char nonce[NONCE_BYTES];

/* Safe in a signal handler, too. */
static void send(child_record *record) {
    memcpy(record->nonce, nonce, sizeof nonce);
    const unsigned char *at = (const unsigned char *)record;
    for (size_t done = 0; done < sizeof *record;) {
        const ssize_t bytes = write(CHILD_RECORDS_FD, at + done, sizeof *record - done);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            _exit(EXIT_USAGE); /* the solution has closed it; the judge sees that we left */
        done += (size_t)bytes;
    }
}

static void refuse(const char *what, const char *why) {
    child_record record = {.kind = RECORD_NOT_LOADED};
    snprintf(record.text, sizeof record.text, "%s%s%s", what, why ? ": " : "", why ? why : "");
    send(&record);
    _exit(EXIT_USAGE);
}

static void append(char *text, size_t bytes, const char *more) {
    const size_t used = strlen(text);
    size_t length = strlen(more);
    length = used + length < bytes ? length : bytes - 1 - used;
    memcpy(text + used, more, length);
    text[used + length] = 0;
}

/* What lies at an address that can't be touched. No printf: this is a signal handler's. */
static void name_address(const unsigned char *address, char *text, size_t bytes) {
    const signature *s = signature_find(header.slug);
    for (size_t i = 0; i < header.rounds * (header.inputs + 1); i++) {
        const guarded *g = &blocks[i];
        const unsigned char *first = g->guard + g->guard_bytes, *end = first + g->pages_bytes;
        if (address < g->guard || address >= end + g->guard_bytes)
            continue;
        const size_t index = i % (header.inputs + 1);
        append(text, bytes,
               address < first  ? "touched memory before the start of '"
               : address >= end ? "touched memory past the end of '"
                                : "wrote to its const input '");
        append(text, bytes, s->parameters[index].name);
        append(text, bytes, "'");
        return;
    }
    if ((uintptr_t)address < 65536)
        append(text, bytes, "used a null pointer");
}

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    child_record record = {.kind = RECORD_FAULT, .signal = number};
    /* The kernel itself as the sender: an x86 instruction that wants aligned memory got other. The
     * address is not told then. */
    if (number == SIGSEGV && info->si_code == SI_KERNEL)
        append(record.text, sizeof record.text,
               "used an instruction for aligned memory; tensors have the alignment of their "
               "elements, no more");
    else if (number == SIGSEGV || number == SIGBUS)
        name_address(info->si_addr, record.text, sizeof record.text);
    send(&record);
    signal(number, SIG_DFL);
    raise(number);
}

/* On a stack of its own, for the solution's may be used up. */
static void catch_faults(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char stack[64 * 1024];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static void read_orders(void *into, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = read(CHILD_ORDERS_FD, (char *)into + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            _exit(EXIT_GOOD); /* the judge has ended */
        done += (size_t)got;
    }
}

static void map_block(const arena_block *block, bool is_output, guarded *g) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *room = mmap(NULL, block->pages_bytes + 2 * page, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED ||
        mmap(room + page, block->pages_bytes, PROT_READ | (is_output ? PROT_WRITE : 0),
             MAP_SHARED | MAP_FIXED, CHILD_ARENA_FD, (off_t)block->file_offset) == MAP_FAILED)
        refuse("the judge can't map its memory", strerror(errno));
    *g = (guarded){room, page, block->pages_bytes, room + page + block->offset, block->bytes};
}

static void map_arena(void) {
    const arena_header *shared =
        mmap(NULL, sizeof header, PROT_READ, MAP_SHARED, CHILD_ARENA_FD, 0);
    if (shared == MAP_FAILED)
        refuse("the judge can't map its memory", strerror(errno));
    header = *shared;
    munmap((void *)(uintptr_t)shared, sizeof header);
    for (size_t i = 0; i < header.rounds * (header.inputs + 1); i++)
        map_block(&header.blocks[i], i % (header.inputs + 1) == header.inputs, &blocks[i]);
    close(CHILD_ARENA_FD);
}

static void set_limits(size_t memory_bytes) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (memory_bytes && !HAS_SANITIZER)
        setrlimit(RLIMIT_AS, &(struct rlimit){memory_bytes, memory_bytes});
}

static size_t count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    size_t count = 0;
    for (const struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

/* Whatever the judge was started with. */
static void close_others(void) {
    DIR *files = opendir("/proc/self/fd");
    for (const struct dirent *entry; files && (entry = readdir(files));) {
        const int file = atoi(entry->d_name);
        if (file > CHILD_RECORDS_FD && file != dirfd(files))
            close(file);
    }
    if (files)
        closedir(files);
}

/* Threads that were joined may take a moment to be gone. */
static size_t settled_threads(size_t before) {
    size_t count = count_threads();
    for (int i = 0; i < 20 && count > before; i++) {
        usleep(1000);
        count = count_threads();
    }
    return count;
}

static void call_round(const signature *s, solution_function solution, size_t round) {
    const guarded *first = &blocks[round * (header.inputs + 1)];
    const void *inputs[SIGNATURE_MOST_INPUTS];
    for (size_t i = 0; i < header.inputs; i++)
        inputs[i] = first[i].tensor;
    signature_call(s, solution, &header.params, inputs, first[header.inputs].tensor);
}

int judge_child(int argc, char **argv) {
    if (argc != 3)
        return EXIT_USAGE;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_others();
    child_opening opening;
    read_orders(&opening, sizeof opening);
    memcpy(nonce, opening.nonce, sizeof nonce);
    map_arena();
    const signature *s = signature_find(header.slug);
    catch_faults();
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* so that little is lost in a crash */
    set_limits(opening.memory_limit_bytes);

    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        refuse("it can't be loaded", dlerror());
    void *symbol = dlsym(library, argv[2]);
    if (!symbol)
        refuse("it has no function of that name", argv[2]);
    solution_function solution;
    memcpy(&solution, &symbol, sizeof solution); /* ISO C has no cast for this */
    send(&(child_record){.kind = RECORD_LOADED});

    size_t threads = 1;
    for (size_t round;;) {
        read_orders(&round, sizeof round);
        call_round(s, solution, round);
        send(&(child_record){.kind = RECORD_DONE, .round = round});
        fflush(NULL); /* what it has printed, before this process is ended */
        threads = settled_threads(threads);
        send(&(child_record){.kind = RECORD_THREADS, .round = round, .threads = threads});
    }
}
