# glmnet on the arrays that peers.py packed. usage: Rscript glmnet.R ALPHA FOLDER C OUT THRESHOLD...
# It goes down a path of 20 lambdas, as its manual advises. Its objective is mean log loss + lambda (...), lambda = 1 / (C n).
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "..", "packed.R"))
word <- commandArgs(trailingOnly = TRUE)
alpha <- as.numeric(word[1]); folder <- word[2]; cost <- as.numeric(word[3]); out <- word[4]
thresholds <- as.numeric(word[-(1:4)])
data <- packed(folder)
X <- data$X; y <- factor(data$y); n <- data$n
lambda <- 1 / (cost * n)
most <- max(abs(as.numeric(crossprod(X, (as.numeric(y) - 1.5))))) / n
lambdas <- if (alpha > 0) exp(seq(log(max(most, 1.01 * lambda)), log(lambda), length.out = 20)) else lambda * 1000^seq(1, 0, length.out = 20)
fit <- function(X, y, lambdas, threshold) glmnet(X, y, family = "binomial", alpha = alpha, lambda = lambdas, intercept = FALSE,
                                                 standardize = FALSE, thresh = threshold, maxit = 1e8)
set.seed(1)
invisible(fit(matrix(rnorm(1000), 50), factor(rep(c(-1, 1), 25)), 0.01, 1e-4))
points <- character(0)
for (threshold in thresholds) {
    took <- system.time(model <- fit(X, y, lambdas, threshold), gcFirst = TRUE)
    path <- sprintf("%s-%g.bin", out, threshold)
    writeBin(as.numeric(model$beta[, length(model$lambda)]), path)
    points <- c(points, sprintf('{"tolerance": %g, "wall": %.6f, "cpu": %.6f, "coefficients": "%s"}', threshold,
                                took[["elapsed"]], took[["user.self"]] + took[["sys.self"]], path))
}
cat(sprintf('{"points": [%s], "loaded_rss": 0}\n', paste(points, collapse = ", ")))
