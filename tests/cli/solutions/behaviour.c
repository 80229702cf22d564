/* A right implementation of conv-transpose3d-max-max-sum that misbehaves: -DHOW=CRASH and so on.
 * Judged by tests/cli/judge_bad.sh. right.c is the starter that `upconv init` writes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define solution right
#include "right.c"
#undef solution

enum {
    NOTHING,
    CRASH,
    ABORT,
    FAULTY_DIVISION,
    HANG,
    LOOP,
    EXIT,
    EXIT_WITH_7,
    SMASH_STACK,
    OVERFLOW_STACK,
    WRITE_PAST_END,
    WRITE_BEFORE_START,
    WRITE_NEAR_END,
    READ_PAST_END,
    WRITE_INPUT,
    ADD_TO_OUTPUT,
    PREVIOUS_ANSWER,
    CHEAT_AFTER_2,
    CHEAT_AFTER_4,
    LEAK_THREADS,
    CLOSE_FILES,
    FORGE_RECORDS,
    TOO_MUCH_MEMORY,
    PRINT,
    FLOOD,
    FORK,
    LIST_FILES,
    CRASH_IN_THREAD,
    WANT_ALIGNMENT,
    SLEEP_AT_DEFAULT_SHAPE
};

static volatile int zero;

static void *wait_forever(void *nothing) {
    pause();
    return nothing;
}

static volatile int *volatile nowhere; /* the compiler can not know what it is */

static void *crash(void *nothing) {
    *nowhere = 1;
    return nothing;
}

static int deep(volatile char *above) {
    volatile char frame[4096];
    frame[0] = above ? above[0] : 1;
    return zero ? 0 : deep(frame) + frame[0];
}

static void smash(void) {
    char buffer[16];
    memset(buffer + zero, 'x', 16 + 256 + (size_t)zero);
    puts(buffer);
}

/* What it has inherited: the files that are open. */
static void list_files(void) {
    for (int file = 0; file < 1000; file++)
        if (fcntl(file, F_GETFD) != -1)
            printf("[%d]", file);
    puts("");
}

/* What a vector store for aligned memory does to other memory. */
static void want_alignment(T *at) {
#if defined(__x86_64__)
    __asm__ volatile("movaps %%xmm0, (%0)" : : "r"((char *)at + 4 - (size_t)at % 4) : "memory");
    __asm__ volatile("movaps %%xmm0, (%0)" : : "r"((char *)at + 8 - (size_t)at % 4) : "memory");
#else
    (void)at;
#endif
}

static void flood(void) {
    for (int i = 0; i < 100000; i++)
        puts("the same line over and over");
    fflush(stdout);
}

void solution(const T *input, const T *kernel, const T *conv_bias, T *output, size_t batch_size,
              size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
              size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
              size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w) {
    static size_t calls;
    static T kept[100000];
    const size_t elements = batch_size * (((depth - 1) * stride_d + kernel_d - 2 * padding_d) / 6) *
                            (((height - 1) * stride_h + kernel_h - 2 * padding_h) / 6) *
                            (((width - 1) * stride_w + kernel_w - 2 * padding_w) / 6);
    const size_t input_elements = batch_size * in_channels * depth * height * width;
    pthread_t thread;
    T *into = output;
    calls++;

    switch (HOW) {
    case CRASH:
        crash(NULL);
        break;
    case ABORT:
        abort();
    case FAULTY_DIVISION:
        raise(SIGFPE);
        break;
    case HANG:
        wait_forever(NULL);
        break;
    case LOOP:
        while (!zero)
            ;
        break;
    case EXIT:
        exit(0);
    case EXIT_WITH_7:
        _exit(7);
    case SMASH_STACK:
        smash();
        break;
    case OVERFLOW_STACK:
        zero = deep(NULL) == 3;
        break;
    case CRASH_IN_THREAD:
        pthread_create(&thread, NULL, crash, NULL);
        pthread_join(thread, NULL);
        break;
    case CLOSE_FILES:
        for (int file = 0; file < 100; file++)
            close(file);
        break;
    case FORGE_RECORDS: {
        static const char nonsense[4000];
        for (int file = 3; file < 10; file++)
            if (write(file, nonsense, sizeof nonsense) < 0)
                continue;
        exit(0);
    }
    case TOO_MUCH_MEMORY:
        for (size_t i = 0; i < 1000; i++) {
            static void *blocks[1000];
            blocks[i] = malloc((size_t)64 << 20);
            memset(blocks[i], 1, 4096);
        }
        break;
    case READ_PAST_END:
        zero = input[input_elements + 5] > 1e30f ? 0 : zero;
        break;
    case WRITE_INPUT:
        ((T *)(size_t)kernel)[0] = 1;
        break;
    case SLEEP_AT_DEFAULT_SHAPE:
        if (depth == 32)
            sleep(100);
        break;
    default:
        break;
    }

    if (HOW == ADD_TO_OUTPUT || HOW == PREVIOUS_ANSWER)
        into = malloc((elements + 1) * sizeof *into);
    right(input, kernel, conv_bias, into, batch_size, in_channels, out_channels, depth, height,
          width, kernel_d, kernel_h, kernel_w, stride_d, stride_h, stride_w, padding_d, padding_h,
          padding_w);

    switch (HOW) {
    case ADD_TO_OUTPUT:
        for (size_t i = 0; i < elements; i++)
            output[i] += into[i];
        free(into);
        break;
    case PREVIOUS_ANSWER:
        memcpy(output, calls > 1 ? kept : into, elements * sizeof *into);
        memcpy(kept, into, elements * sizeof *into);
        free(into);
        break;
    case CHEAT_AFTER_2:
    case CHEAT_AFTER_4:
        if (calls > (HOW == CHEAT_AFTER_2 ? 2 : 4))
            memset(output, 0, elements * sizeof *output);
        break;
    case WRITE_PAST_END:
        memset(output + elements, 0, 64);
        break;
    case WRITE_BEFORE_START:
        memset(output - 4, 0, 4 * sizeof *output);
        break;
    case WRITE_NEAR_END: /* in the first call nothing, in the second behind the end */
        if (calls == 2)
            output[elements] = 0;
        break;
    case LEAK_THREADS:
        pthread_create(&thread, NULL, wait_forever, NULL);
        break;
    case PRINT:
        printf("a word from the solution"); /* without the end of a line */
        fputs("an error from the solution\033[2J\n", stderr);
        break;
    case WANT_ALIGNMENT:
        want_alignment(output);
        break;
    case LIST_FILES:
        list_files();
        break;
    case FLOOD:
        flood();
        break;
    case FORK:
        if (fork() == 0) {
            setsid();
            execlp("sleep", "sleep", "97531", (char *)NULL);
            _exit(1);
        }
        break;
    default:
        break;
    }
}
