# glmnet on the arrays that bench/lasso/peer.py packed: a path, and the cross-validation of it.
# usage: Rscript glmnet.R FOLDER LAMBDAS FOLDS OUT TIMES, where LAMBDAS and FOLDS have a number per line, and each fit is done TIMES times.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "..", "packed.R"))
word <- commandArgs(trailingOnly = TRUE)
folder <- word[1]; lambdas <- scan(word[2], quiet = TRUE); folds <- scan(word[3], quiet = TRUE); out <- word[4]; times <- as.integer(word[5])
data <- packed(folder)
X <- data$X; y <- data$y
cpu <- function() { used <- proc.time(); used[["user.self"]] + used[["sys.self"]] }
# Returns the result of f, with the median wall seconds and the mean CPU seconds, whose clock counts milliseconds.
timed <- function(f) {
    invisible(gc())
    walls <- numeric(times); before <- cpu()
    for (k in seq_len(times)) {
        began <- Sys.time()
        result <- f()
        walls[k] <- as.numeric(difftime(Sys.time(), began, units = "secs"))
    }
    list(result = result, wall = median(walls), cpu = (cpu() - before) / times)
}
path <- function() glmnet(X, y, lambda = lambdas, standardize = FALSE)
crossed <- function() cv.glmnet(X, y, lambda = lambdas, foldid = folds, standardize = FALSE)
set.seed(1)
small <- matrix(rnorm(2000), 100)
invisible(cv.glmnet(small, small[, 1] + rnorm(100), nfolds = 3))
one <- timed(path)
many <- timed(crossed)
beta <- as.matrix(one$result$beta)
writeBin(as.numeric(rbind(beta, one$result$a0)), out)
cat(sprintf('{"path": {"wall": %.6f, "cpu": %.6f}, "cv": {"wall": %.6f, "cpu": %.6f}, "lambdas": %d, "lambda_min": %.17g, "lambda_1se": %.17g, "coefficients": "%s"}\n',
            one$wall, one$cpu, many$wall, many$cpu, ncol(beta), many$result$lambda.min, many$result$lambda.1se, out))
