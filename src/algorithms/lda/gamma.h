/* gamma.h - differences of the logarithm of the gamma function, and of its derivative, at whole distances. */
#ifndef HW_ALGORITHMS_LDA_GAMMA_H
#define HW_ALGORITHMS_LDA_GAMMA_H

/* Returns log gamma(a + n) - log gamma(a), a > 0, n >= 0 and whole. */
double hw_log_rising(double a, double n);
/* Returns psi(a + n) - psi(a), where psi is the derivative of log gamma. */
double hw_psi_rising(double a, double n);

#endif
