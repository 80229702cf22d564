/* Pages of text for a terminal: headings, paragraphs, lists and code, wrapped to its width.
 * Called by show. */
#define _DEFAULT_SOURCE /* the terminal's size is no part of POSIX */
#include "page.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "utf8.h"

/* Longer lines are hard to read, shorter ones can't hold a word of these pages. */
enum { NARROWEST = 40, WIDEST = 100, USUAL = 80 };

size_t page_width(FILE *stream) {
    size_t width = USUAL;
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    if (columns && isdigit((unsigned char)*columns))
        width = strtoul(columns, NULL, 10);
    else if (isatty(fileno(stream)) && !ioctl(fileno(stream), TIOCGWINSZ, &size) && size.ws_col)
        width = size.ws_col;
    return width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : width;
}

void page_heading(FILE *stream, const char *text) {
    fprintf(stream, "\n%s%s%s\n", cli_colour_on(stream, CLI_BOLD), text, cli_colour_off(stream));
}

/* Writes a word and turns its marks (`code`, **strong**) into colours, where there are any. What is
 * open at its end stays open for the next word. */
typedef struct marks {
    bool code, strong;
} marks;

/* The length of the mark at text, 0 if there is none. Inside of code two stars are stars. */
static size_t mark_at(const char *text, size_t bytes, const marks *open) {
    if (*text == '`')
        return 1;
    return !open->code && bytes >= 2 && !memcmp(text, "**", 2) ? 2 : 0;
}

static size_t word_columns(const char *word, size_t bytes, marks open) {
    size_t columns = utf8_columns(word, bytes);
    for (size_t i = 0; i < bytes; i++) {
        const size_t mark = mark_at(word + i, bytes - i, &open);
        columns -= mark;
        open.code ^= mark == 1;
        i += mark ? mark - 1 : 0;
    }
    return columns;
}

static void put_word(FILE *stream, const char *word, size_t bytes, marks *open) {
    for (size_t i = 0; i < bytes; i++) {
        const size_t mark = mark_at(word + i, bytes - i, open);
        if (!mark) {
            fputc(word[i], stream);
            continue;
        }
        bool *which = mark == 1 ? &open->code : &open->strong;
        *which = !*which;
        const cli_colour colour = open->code ? CLI_GREEN : open->strong ? CLI_BOLD : CLI_PLAIN;
        fputs(cli_colour_off(stream), stream);
        if (colour != CLI_PLAIN)
            fputs(cli_colour_on(stream, colour), stream);
        i += mark - 1;
    }
}

void page_paragraph(FILE *stream, const char *first, const char *text, size_t bytes) {
    const size_t width = page_width(stream), indent = utf8_columns(first, strlen(first));
    marks open = {false, false};
    fputs(first, stream);
    size_t column = indent;
    for (size_t i = 0; i < bytes;) {
        if (isspace((unsigned char)text[i])) {
            i++;
            continue;
        }
        size_t end = i;
        while (end < bytes && !isspace((unsigned char)text[end]))
            end++;
        const size_t columns = word_columns(text + i, end - i, open);
        if (column > indent && column + 1 + columns > width) {
            fprintf(stream, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', stream);
            column++;
        }
        put_word(stream, text + i, end - i, &open);
        column += columns;
        i = end;
    }
    if (open.code || open.strong) /* a mark that nothing closes */
        fputs(cli_colour_off(stream), stream);
    fputc('\n', stream);
}

/* ---- Markdown ------------------------------------------------------------------------------- */

typedef struct line {
    const char *text; /* behind its indent */
    size_t indent, bytes;
} line;

static line line_at(const char *text) {
    line l = {.text = text};
    while (*l.text == ' ') {
        l.text++;
        l.indent++;
    }
    l.bytes = strcspn(l.text, "\n");
    while (l.bytes && isspace((unsigned char)l.text[l.bytes - 1]))
        l.bytes--;
    return l;
}

static const char *next_line(const char *text) {
    text += strcspn(text, "\n");
    return *text ? text + 1 : text;
}

/* The length of "- ", "* " or "12. " at the line's start, 0 if it begins no list item. */
static size_t bullet(const line *l) {
    if (l->bytes > 2 && (*l->text == '-' || *l->text == '*') && l->text[1] == ' ')
        return 2;
    size_t digits = 0;
    while (digits < l->bytes && digits < 4 && isdigit((unsigned char)l->text[digits]))
        digits++;
    return digits && digits + 2 < l->bytes && !memcmp(l->text + digits, ". ", 2) ? digits + 2 : 0;
}

static bool is_code_fence(const line *l) {
    return l->bytes >= 3 && !memcmp(l->text, "```", 3);
}

static size_t heading(const line *l) {
    size_t level = 0;
    while (level < l->bytes && level < 6 && l->text[level] == '#')
        level++;
    return level && level < l->bytes && l->text[level] == ' ' ? level + 1 : 0;
}

/* A paragraph or a list item goes on until something else begins. */
static bool goes_on(const line *l) {
    return l->bytes && !bullet(l) && !heading(l) && !is_code_fence(l) && *l->text != '|';
}

static const char *put_block(FILE *stream, const char *text) {
    const line l = line_at(text);
    const size_t mark = bullet(&l);
    char first[64];
    const size_t indent = l.indent < 16 ? l.indent : 16;
    /* Numbers stand in front as they are; hyphens look better as what they mean. */
    snprintf(first, sizeof first, "%*s%.*s", (int)(mark ? indent + 2 : 0), "",
             (int)(mark == 2 ? 0 : mark), l.text);
    if (mark == 2)
        strcat(first, "• ");
    const char *end = next_line(text);
    for (line more = line_at(end); *end && goes_on(&more); more = line_at(end))
        end = next_line(end);
    page_paragraph(stream, first, l.text + mark, (size_t)(end - l.text) - mark);
    return end;
}

static const char *put_fenced(FILE *stream, const char *text) {
    for (text = next_line(text); *text; text = next_line(text)) {
        const line l = line_at(text);
        if (is_code_fence(&l))
            return next_line(text);
        fprintf(stream, "    %*s%.*s\n", (int)l.indent, "", (int)l.bytes, l.text);
    }
    return text;
}

void page_markdown(FILE *stream, const char *text) {
    bool empty_before = true; /* one empty line between blocks, none at the start */
    while (*text) {
        const line l = line_at(text);
        const size_t hashes = heading(&l);
        if (!l.bytes) {
            if (!empty_before)
                fputc('\n', stream);
            empty_before = true;
            text = next_line(text);
            continue;
        }
        if (hashes) {
            fprintf(stream, "%s%s%.*s%s\n", empty_before ? "" : "\n",
                    cli_colour_on(stream, CLI_BOLD), (int)(l.bytes - hashes), l.text + hashes,
                    cli_colour_off(stream));
            text = next_line(text);
        } else if (is_code_fence(&l)) {
            text = put_fenced(stream, text);
        } else if ((l.indent >= 4 && !bullet(&l)) || *l.text == '|') {
            fprintf(stream, "%*s%.*s\n", (int)l.indent, "", (int)l.bytes, l.text);
            text = next_line(text);
        } else {
            text = put_block(stream, text);
        }
        empty_before = false;
    }
}
