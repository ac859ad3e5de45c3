/* no_blas.c - a library that is no BLAS. */
int no_blas_at_all;
