/* Problem files: Markdown with YAML front matter, read by libyaml and checked as they are read.
 * Called by show and judge for files of the user, and by show and list for those built in. */
#define _POSIX_C_SOURCE 200809L
#include "problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "cli.h"
#include "signature.h"
#include "utf8.h"

/* One file being read. The event is the one under the parser's eye. */
typedef struct reader {
    const char *name;
    yaml_parser_t parser;
    yaml_event_t event;
    problem *p;
} reader;

/* Says what is wrong with which line. Returns false, for the caller to return. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static bool
complain(const char *name, size_t line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "upconv: %s:%zu: ", name, line);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

/* ---- YAML events ---------------------------------------------------------------------------- */

static size_t line_of(const reader *r) {
    return r->event.start_mark.line + 1;
}

/* Steps to the next event. Aliases are refused outright, and anchors with them: a few lines of
 * those can stand for gigabytes, and nothing here needs them. */
static bool next(reader *r) {
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        const yaml_parser_t *parser = &r->parser;
        /* A reader's error has no mark: the bytes were checked before, so there is none. */
        return complain(r->name, parser->problem_mark.line + 1, "%s%s%s",
                        parser->problem ? parser->problem : "the YAML is not right",
                        parser->context ? ", " : "", parser->context ? parser->context : "");
    }
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (r->event.type) {
    case YAML_ALIAS_EVENT:
        anchor = r->event.data.alias.anchor;
        break;
    case YAML_SCALAR_EVENT:
        anchor = r->event.data.scalar.anchor;
        tag = r->event.data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = r->event.data.sequence_start.anchor;
        tag = r->event.data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = r->event.data.mapping_start.anchor;
        tag = r->event.data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor)
        return complain(r->name, line_of(r), "anchors and aliases ('%s') are not allowed here",
                        (const char *)anchor);
    if (tag)
        return complain(r->name, line_of(r), "YAML tags ('%s') are not allowed here",
                        (const char *)tag);
    return true;
}

static const char *kind_of(const reader *r) {
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        return "a text";
    case YAML_SEQUENCE_START_EVENT:
        return "a list";
    case YAML_MAPPING_START_EVENT:
        return "a mapping";
    default:
        return "nothing";
    }
}

static bool expect(const reader *r, yaml_event_type_t type, const char *what, const char *wanted) {
    if (r->event.type == type)
        return true;
    return complain(r->name, line_of(r), "%s must be %s, not %s", what, wanted, kind_of(r));
}

/* The text under the parser's eye, copied. Quoted YAML can spell characters that the file itself
 * must not have, so it is looked at once more. */
static bool take_text(const reader *r, const char *what, char **text) {
    if (!expect(r, YAML_SCALAR_EVENT, what, "a text"))
        return false;
    const char *value = (const char *)r->event.data.scalar.value;
    const size_t bytes = r->event.data.scalar.length;
    const char *bad;
    if (utf8_first_bad(value, bytes, &bad) < bytes)
        return complain(r->name, line_of(r), "%s holds %s", what, bad);
    if (!bytes)
        return complain(r->name, line_of(r), "%s is empty", what);
    if (strpbrk(value, "\r\n"))
        return complain(r->name, line_of(r), "%s must be one line", what);
    if (!(*text = strdup(value)))
        return complain(r->name, line_of(r), "out of memory");
    return true;
}

/* ---- Front matter --------------------------------------------------------------------------- */

static const char *nth_key(const void *from, size_t index) {
    return ((const char *const *)from)[index];
}

/* Finds the key under the parser's eye among those there are, closed by NULL. It must be new. */
static bool take_key(reader *r, const char *const *keys, unsigned *seen, size_t *key) {
    char *text = NULL;
    if (!take_text(r, "a key", &text))
        return false;
    for (*key = 0; keys[*key] && strcmp(keys[*key], text) != 0;)
        ++*key;
    bool right = true;
    if (!keys[*key]) {
        const char *near = cli_nearest(text, nth_key, keys);
        right = complain(r->name, line_of(r), "unknown key '%.60s'%s%s%s", text,
                         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    } else if (*seen & 1u << *key) {
        right = complain(r->name, line_of(r), "the key '%s' is here for the second time", text);
    }
    free(text);
    *seen |= right ? 1u << *key : 0;
    return right && next(r);
}

static bool take_bool(const reader *r, const char *what, bool *value) {
    char *text = NULL;
    if (!take_text(r, what, &text))
        return false;
    *value = !strcmp(text, "true");
    const bool right = *value || !strcmp(text, "false");
    if (!right)
        complain(r->name, line_of(r), "%s must be \"true\" or \"false\", not '%.60s'", what, text);
    free(text);
    return right;
}

/* A parameter, up to the end of its mapping. */
static bool take_parameter(reader *r, problem_parameter *parameter) {
    enum { NAME, TYPE, POINTER, CONST, CONSTANT };
    static const char *const keys[] = {"name", "type", "pointer", "const", "constant", NULL};
    if (!expect(r, YAML_MAPPING_START_EVENT, "a parameter", "a mapping of name, type, ..."))
        return false;
    parameter->line = line_of(r);
    unsigned seen = 0;
    for (size_t key; next(r) && r->event.type != YAML_MAPPING_END_EVENT;) {
        if (!take_key(r, keys, &seen, &key))
            return false;
        const bool right = key == NAME      ? take_text(r, "name", &parameter->name)
                           : key == TYPE    ? take_text(r, "type", &parameter->type)
                           : key == POINTER ? take_bool(r, "pointer", &parameter->pointer)
                                            : take_bool(r, keys[key], &parameter->constant);
        if (!right)
            return false;
    }
    if (r->event.type != YAML_MAPPING_END_EVENT)
        return false;
    if (!parameter->name || !parameter->type)
        return complain(r->name, parameter->line, "a parameter without a '%s'",
                        parameter->name ? "type" : "name");
    if ((seen & 1u << CONST) && (seen & 1u << CONSTANT))
        return complain(r->name, parameter->line,
                        "parameter '%.60s' has 'const' and 'constant', which are the same",
                        parameter->name);
    return true;
}

static bool take_parameters(reader *r) {
    if (!expect(r, YAML_SEQUENCE_START_EVENT, "parameters", "a list"))
        return false;
    problem *p = r->p;
    while (next(r) && r->event.type != YAML_SEQUENCE_END_EVENT) {
        if (p->parameter_count == PROBLEM_MAX_PARAMETERS)
            return complain(r->name, line_of(r), "more than %d parameters", PROBLEM_MAX_PARAMETERS);
        problem_parameter *parameter = &p->parameters[p->parameter_count++];
        if (!take_parameter(r, parameter))
            return false;
        for (size_t i = 0; i + 1 < p->parameter_count; i++)
            if (!strcmp(p->parameters[i].name, parameter->name))
                return complain(r->name, parameter->line,
                                "parameter '%.60s' is here twice, first in line %zu",
                                parameter->name, p->parameters[i].line);
    }
    return r->event.type == YAML_SEQUENCE_END_EVENT;
}

static bool take_tags(reader *r) {
    if (!expect(r, YAML_SEQUENCE_START_EVENT, "tags", "a list"))
        return false;
    problem *p = r->p;
    while (next(r) && r->event.type != YAML_SEQUENCE_END_EVENT) {
        if (p->tag_count == PROBLEM_MAX_TAGS)
            return complain(r->name, line_of(r), "more than %d tags", PROBLEM_MAX_TAGS);
        if (!take_text(r, "a tag", &p->tags[p->tag_count++]))
            return false;
    }
    return r->event.type == YAML_SEQUENCE_END_EVENT;
}

enum { SLUG, TITLE, DIFFICULTY, AUTHOR, TAGS, PARAMETERS, KEYS };
static const char *const problem_keys[] = {"slug", "title",      "difficulty", "author",
                                           "tags", "parameters", NULL};

/* All of the front matter; lines[] is where each key was. */
static bool take_front_matter(reader *r, size_t lines[KEYS]) {
    if (!next(r) || !next(r)) /* the stream's start and the document's */
        return false;
    if (r->event.type != YAML_DOCUMENT_START_EVENT)
        return complain(r->name, 1, "the front matter is empty");
    if (!next(r))
        return false;
    if (!expect(r, YAML_MAPPING_START_EVENT, "the front matter", "a mapping of slug, title, ..."))
        return false;
    problem *p = r->p;
    char **const texts[] = {&p->slug, &p->title, &p->difficulty, &p->author};
    unsigned seen = 0;
    for (size_t key; next(r) && r->event.type != YAML_MAPPING_END_EVENT;) {
        const size_t line = line_of(r);
        if (!take_key(r, problem_keys, &seen, &key))
            return false;
        lines[key] = line;
        const bool right = key == TAGS         ? take_tags(r)
                           : key == PARAMETERS ? take_parameters(r)
                                               : take_text(r, problem_keys[key], texts[key]);
        if (!right)
            return false;
    }
    if (r->event.type != YAML_MAPPING_END_EVENT)
        return false;
    const size_t last = line_of(r);
    for (size_t key = 0; key < KEYS; key++)
        if (!(seen & 1u << key))
            return complain(r->name, last, "the front matter ends without the key '%s'",
                            problem_keys[key]);
    if (!next(r) || !next(r)) /* the document's end and the stream's */
        return false;
    return r->event.type == YAML_STREAM_END_EVENT ||
           complain(r->name, line_of(r), "a second YAML document in the front matter");
}

/* ---- Against the specification -------------------------------------------------------------- */

static bool check_parameter(const char *name, const problem *p, size_t index,
                            const parameter *wanted) {
    const problem_parameter *is = &p->parameters[index];
    if (strcmp(is->type, "[VAR]") != 0 && strcmp(is->type, "size_t") != 0 &&
        strcmp(is->type, "double") != 0)
        return complain(name, is->line,
                        "parameter '%.60s' has the unknown type '%.60s'; there are [VAR], size_t "
                        "and double",
                        is->name, is->type);
    if (!wanted)
        return complain(name, is->line, "parameter '%.60s' is one too many: %s has %zu", is->name,
                        p->slug, index);
    if (strcmp(is->name, wanted->name) != 0)
        return complain(name, is->line, "parameter %zu is '%.60s', but that of %s is '%s'",
                        index + 1, is->name, p->slug, wanted->name);
    const bool pointer = wanted->kind == PARAMETER_INPUT || wanted->kind == PARAMETER_OUTPUT;
    const char *type = pointer ? "[VAR]" : wanted->kind == PARAMETER_SIZE ? "size_t" : "double";
    if (strcmp(is->type, type) != 0)
        return complain(name, is->line, "parameter '%s' has the type %s, but in %s it has %s",
                        is->name, is->type, p->slug, type);
    if (is->pointer != pointer)
        return complain(name, is->line, "parameter '%s' %s a pointer in %s", is->name,
                        is->pointer ? "is not" : "is", p->slug);
    /* A value that is passed as a copy may be const or not: to the caller that is the same. */
    if (is->pointer && is->constant != (wanted->kind == PARAMETER_INPUT))
        return complain(name, is->line, "parameter '%s' %s const in %s", is->name,
                        is->constant ? "is not" : "is", p->slug);
    return true;
}

static const char *nth_slug(const void *from, size_t index) {
    (void)from;
    return uc_operator_slug(index);
}

static bool check(const char *name, const problem *p, const size_t lines[KEYS]) {
    const signature *wanted = signature_find(p->slug);
    if (!wanted) {
        const char *near = cli_nearest(p->slug, nth_slug, NULL);
        return complain(name, lines[SLUG], "there is no operator '%.60s'%s%s%s", p->slug,
                        near ? "; did you mean '" : ": 'upconv list' tells which there are",
                        near ? near : "", near ? "'?" : "");
    }
    for (size_t i = 0; i < p->parameter_count; i++)
        if (!check_parameter(name, p, i, i < wanted->count ? &wanted->parameters[i] : NULL))
            return false;
    if (p->parameter_count < wanted->count)
        return complain(name, lines[PARAMETERS], "%zu parameters, but %s has %zu: the next is '%s'",
                        p->parameter_count, p->slug, wanted->count,
                        wanted->parameters[p->parameter_count].name);
    return true;
}

/* ---- Text ----------------------------------------------------------------------------------- */

static size_t lines_before(const char *text, size_t bytes) {
    size_t lines = 1;
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    return lines;
}

/* Whether a line of three hyphens begins at `at`; *end is where the next one does. */
static bool is_fence(const char *text, size_t bytes, size_t at, size_t *end) {
    const char *newline = memchr(text + at, '\n', bytes - at);
    *end = newline ? (size_t)(newline - text) + 1 : bytes;
    size_t length = *end - at;
    while (length && strchr(" \t\r\n", text[at + length - 1]))
        length--;
    return length == 3 && !memcmp(text + at, "---", 3);
}

bool problem_parse(const char *name, const char *text, size_t bytes, problem *p) {
    memset(p, 0, sizeof *p);
    const char *bad;
    const size_t bad_at = utf8_first_bad(text, bytes, &bad);
    if (bad)
        return complain(name, lines_before(text, bad_at), "%s: this is no text file", bad);
    if (bytes >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
        text += 3;
        bytes -= 3;
    }

    size_t end = 0, at;
    if (!is_fence(text, bytes, 0, &at))
        return complain(name, 1, "a problem file begins with a line '---', and YAML below it");
    const size_t first = at;
    while (at < bytes && !is_fence(text, bytes, at, &end))
        at = end;
    if (at == bytes)
        return complain(name, lines_before(text, bytes),
                        "the file ends before the line '---' that closes its front matter");

    reader r = {.name = name, .p = p};
    if (!yaml_parser_initialize(&r.parser))
        return complain(name, 1, "out of memory");
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    /* From the opening line on, so that libyaml's lines are the file's. */
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, at);
    size_t lines[KEYS] = {0};
    bool right =
        first < at ? take_front_matter(&r, lines) : complain(name, 1, "the front matter is empty");
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    right = right && check(name, p, lines);
    if (right && !(p->text = strndup(text, bytes)))
        right = complain(name, 1, "out of memory");
    if (right)
        p->body = p->text + end;
    else
        problem_free(p);
    return right;
}

bool problem_read(const char *path, problem *p) {
    const bool standard_input = !strcmp(path, "-");
    const char *name = standard_input ? "standard input" : path;
    FILE *file = standard_input ? stdin : fopen(path, "rb");
    char *text = malloc(PROBLEM_MAX_BYTES + 1);
    size_t bytes = 0;
    const char *error = NULL;
    if (!file)
        error = strerror(errno);
    else if (!text)
        error = "out of memory";
    else if ((bytes = fread(text, 1, PROBLEM_MAX_BYTES + 1, file)), ferror(file))
        error = strerror(errno);
    if (file && !standard_input)
        fclose(file);

    bool right = false;
    if (error)
        fprintf(stderr, "upconv: %s: %s\n", name, error);
    else if (bytes > PROBLEM_MAX_BYTES)
        complain(name, lines_before(text, bytes), "the file goes on after %d bytes: too large",
                 PROBLEM_MAX_BYTES);
    else
        right = problem_parse(name, text, bytes, p);
    free(text);
    return right;
}

void problem_free(problem *p) {
    free(p->slug);
    free(p->title);
    free(p->difficulty);
    free(p->author);
    for (size_t i = 0; i < p->tag_count; i++)
        free(p->tags[i]);
    for (size_t i = 0; i < p->parameter_count; i++) {
        free(p->parameters[i].name);
        free(p->parameters[i].type);
    }
    free(p->text);
    memset(p, 0, sizeof *p);
}

const embedded_file *problem_find(const char *slug) {
    const size_t length = strlen(slug);
    for (const embedded_file *file = problem_files; file->name; file++)
        if (!strncmp(file->name, slug, length) && !strcmp(file->name + length, ".md"))
            return file;
    return NULL;
}
