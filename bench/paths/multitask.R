# glmnet's mgaussian on the arrays of bench/paths/multitask: a path.
# usage: Rscript multitask.R FOLDER ROWS COLUMNS TARGETS THRESH OUT; prints a JSON line.
suppressMessages(library(glmnet))
word <- commandArgs(trailingOnly = TRUE)
n <- as.integer(word[2]); p <- as.integer(word[3]); q <- as.integer(word[4])
read <- function(name, columns) matrix(readBin(file.path(word[1], name), "double", n * columns), n, columns)
X <- read("X.bin", p); Y <- read("Y.bin", q)
lambdas <- scan(file.path(word[1], "lambdas"), quiet = TRUE)
glmnet.control(fdev = 0, devmax = 1) # else it leaves out the last lambdas
before <- proc.time()
fit <- glmnet(X, Y, family = "mgaussian", lambda = lambdas, standardize = FALSE, thresh = as.numeric(word[5]), maxit = 1e8)
used <- proc.time() - before
writeBin(as.numeric(sapply(fit$beta, as.matrix)), word[6])
cat(sprintf('{"cpu": %.6f, "lambdas": %d}\n', used[["user.self"]] + used[["sys.self"]], length(fit$lambda)))
