/* Problems through the library: text to chain, oracle, plan and execution, with every step checked.
 * Called by every test that runs plans. */
#ifndef UC_TEST_RUN_H
#define UC_TEST_RUN_H

#include "compare.h"
#include "data.h"

/* The chain that the library reads from the problem's text; NULL, and a failed check, if it can't.
 */
uc_chain *run_parse(const struct problem *problem);

/* The oracle's output, for the caller to free. */
double *run_reference(const uc_chain *chain, const struct data *data);

/* Plans and executes with exactly the workspace that the plan asks for. False, and a failed check,
 * if anything goes wrong. */
bool run_plan(const uc_chain *chain, const struct data *data, size_t threads, enum guard guard,
              struct buffer *output);

/* What noise_of() measures, for the caller to free; thrice that for a plan by Winograd, whose
 * rounding errors come from all inputs of a tile: the worst may be that much larger where values
 * cancel and a clamp shows what is left. */
double *run_noise(const struct problem *problem, const uc_chain *chain, const struct data *data,
                  const double *reference);

/* The same with any options. */
bool run_plan_with(const uc_chain *chain, const struct data *data, const uc_options *options,
                   enum guard guard, struct buffer *output);

/* What a plan says of itself, for the caller to free. */
char *run_description(const uc_plan *plan);

/* Whether the description of a plan for this chain has these words. */
bool run_says(const uc_chain *chain, const struct data *data, const char *words);
bool run_says_with(const uc_chain *chain, const struct data *data, const uc_options *options,
                   const char *words);

/* The canonical text of a chain, for the caller to free. */
char *run_text(const uc_chain *chain);

/* Fails the check if status is not what it should be, and says why the library thinks so. */
bool check_status(const char *label, uc_status expected, uc_status got);

#endif
