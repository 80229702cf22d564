/* Progress while a single long call runs: a thread that says how long it has taken so far.
 * Called by run. */
#ifndef UC_CLI_TICKER_H
#define UC_CLI_TICKER_H

/* From the second second on, on a terminal only. what must live until ticker_stop(); expected is a
 * guess of the whole time in seconds, 0 for none. */
void ticker_start(const char *what, double expected);
void ticker_stop(void);

#endif
