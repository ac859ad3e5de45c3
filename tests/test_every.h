/* test_every.h - how many of their cases tests run in builds with a sanitizer. */
#ifndef WEFT_TEST_EVERY_H
#define WEFT_TEST_EVERY_H

/* The step of loops over dtypes and random cases. The sanitizers make each kernel many times slower, and their
 * findings hardly depend on dtypes and cases. */
#if defined __SANITIZE_THREAD__
enum { TEST_EVERY = 5 };
#elif defined __SANITIZE_ADDRESS__
enum { TEST_EVERY = 3 };
#else
enum { TEST_EVERY = 1 };
#endif
/* True with the thread sanitizer: a test then has the cases in which its threads meet, and few others. */
enum { TEST_RACES = TEST_EVERY > 3 };

#endif
