/* Compiles a solution that is one C file, with the C compiler found.
 * Called by judge. */
#define _POSIX_C_SOURCE 200809L
#include "compile.h"
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_WORDS 64

/* Splits text at spaces, in place. */
static size_t add_words(char *text, char **words, size_t count) {
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\n", &rest); word && count < MOST_WORDS - 1;
         word = strtok_r(NULL, " \t\n", &rest))
        words[count++] = word;
    return count;
}

static bool is_in_path(const char *program) {
    const char *path = getenv("PATH");
    while (path && *path) {
        char file[PATH_MAX];
        const int length = (int)strcspn(path, ":");
        if (snprintf(file, sizeof file, "%.*s/%s", length, path, program) < (int)sizeof file &&
            access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* $CC, which may have options of its own, else the first that is there. */
static const char *compiler(void) {
    static const char *const usual[] = {"cc", "gcc", "clang", NULL};
    const char *chosen = getenv("CC");
    if (chosen && *chosen)
        return chosen;
    for (const char *const *program = usual; *program; program++)
        if (is_in_path(*program))
            return *program;
    return NULL;
}

static bool make_folder(char *folder, size_t bytes) {
    const char *place = getenv("TMPDIR");
    if (snprintf(folder, bytes, "%s/upconv-judge.XXXXXX", place && *place ? place : "/tmp") >=
            (int)bytes ||
        !mkdtemp(folder)) {
        fprintf(stderr, "upconv: can't make a temporary folder: %s\n", strerror(errno));
        return false;
    }
    cli_remember_file(folder);
    return true;
}

/* The compiler's own messages go to standard error, where ours go, and its temporary files to our
 * folder, which goes away with them when it is ended halfway. */
static int run(char **words, const char *folder) {
    fputs("+", stderr);
    for (char **word = words; *word; word++)
        fprintf(stderr, " %s", *word);
    fputs("\n", stderr);
    fflush(NULL);
    const pid_t pid = cli_fork();
    if (pid == 0) {
        setpgid(0, 0);
        setenv("TMPDIR", folder, 1);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(words[0], words);
        fprintf(stderr, "upconv: can't run %s: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    int status = -1;
    if (pid > 0) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        cli_forget_child(pid);
    }
    return status;
}

compile_outcome compile_solution(const char *source, const char *flags, char *library,
                                 size_t library_bytes) {
    const char *found = compiler();
    char folder[PATH_MAX], file[PATH_MAX], *words[MOST_WORDS],
        output[] = "-o", math[] = "-lm", usual[] = "-O3 -march=native -fPIC -shared";
    if (!found) {
        fprintf(stderr, "upconv: there is no C compiler (cc, gcc, clang): set CC, or give the "
                        "judge a shared library\n");
        return COMPILE_IMPOSSIBLE;
    }
    if (!make_folder(folder, sizeof folder) ||
        snprintf(library, library_bytes, "%s/solution.so", folder) >= (int)library_bytes ||
        /* A name that begins with a hyphen is no option. */
        snprintf(file, sizeof file, "%s%s", *source == '-' ? "./" : "", source) >= (int)sizeof file)
        return COMPILE_IMPOSSIBLE;
    char *own = strdup(found), *more = strdup(flags ? flags : "");
    compile_outcome outcome = COMPILE_IMPOSSIBLE;
    if (own && more) {
        size_t count = add_words(own, words, 0);
        count = add_words(usual, words, count);
        char *const fixed[] = {output, library, file};
        for (size_t i = 0; i < 3 && count < MOST_WORDS - 1; i++)
            words[count++] = fixed[i];
        count = add_words(more, words, count);
        words[count < MOST_WORDS - 1 ? count++ : count - 1] = math;
        words[count] = NULL;
        const int status = run(words, folder);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
            outcome = COMPILE_IMPOSSIBLE;
        else
            outcome =
                WIFEXITED(status) && WEXITSTATUS(status) == 0 ? COMPILE_GOOD : COMPILE_REFUSED;
    }
    free(own);
    free(more);
    return outcome;
}
