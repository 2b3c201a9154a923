# glmnet on the arrays that peer.py packed. usage: Rscript peer.R FOLDER LAMBDA OUT STEPS THRESHOLD...
# STEPS 1 fits the one lambda; with more, a path leads down to it from lambda_max, as glmnet's manual advises.
# glmnet's lasso is 1/(2n) ||y - Xw||^2 + lambda ||w||_1 as well; only its elastic net would need lambda scaled by sd(y).
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "..", "packed.R"))
word <- commandArgs(trailingOnly = TRUE)
folder <- word[1]; lambda <- as.numeric(word[2]); out <- word[3]; steps <- as.integer(word[4])
thresholds <- as.numeric(word[-(1:4)])
data <- packed(folder)
X <- data$X; y <- data$y
intercept <- data$fact("intercept") == "true"
lambdas <- if (steps == 1) lambda else exp(seq(log(as.numeric(data$fact("lambda_max"))), log(lambda), length.out = steps))
fit <- function(X, y, lambdas, threshold) glmnet(X, y, lambda = lambdas, intercept = intercept, standardize = FALSE,
                                               thresh = threshold, maxit = 1e8)
set.seed(1)
invisible(fit(matrix(rnorm(1000), 50), rnorm(50), 0.01, 1e-4))
invisible(gc())
loaded <- as.numeric(sub("[^0-9]*([0-9]+).*", "\\1", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))) * 1024
points <- character(0)
for (threshold in thresholds) {
    took <- system.time(model <- fit(X, y, lambdas, threshold), gcFirst = TRUE)
    path <- sprintf("%s-%g.bin", out, threshold)
    last <- length(model$lambda)
    writeBin(c(as.numeric(model$beta[, last]), if (intercept) model$a0[last] else 0), path)
    points <- c(points, sprintf('{"tolerance": %g, "wall": %.6f, "cpu": %.6f, "coefficients": "%s"}', threshold,
                                took[["elapsed"]], took[["user.self"]] + took[["sys.self"]], path))
}
cat(sprintf('{"points": [%s], "loaded_rss": %.0f}\n', paste(points, collapse = ", "), loaded))
