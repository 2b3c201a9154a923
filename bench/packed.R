# The arrays that a bench packed (peer.py, peers.py), for the scripts that source this file: `packed(FOLDER)` returns X, y, n and `fact`, which
# returns a fact of facts.json as text.
suppressMessages({library(Matrix); library(glmnet)})
packed <- function(folder) {
    facts <- readLines(file.path(folder, "facts.json"), warn = FALSE)
    fact <- function(key) sub(paste0('.*"', key, '": ([^,}]*).*'), "\\1", facts)
    number <- function(key) as.numeric(fact(key))
    bin <- function(name, what, n) readBin(file.path(folder, name), what, n)
    n <- number("rows"); p <- number("columns"); stored <- number("stored")
    X <- if (fact("dense") == "true") matrix(bin("values.bin", "double", stored), n, p) else
        new("dgCMatrix", Dim = as.integer(c(n, p)), p = bin("starts.bin", "integer", p + 1),
            i = bin("rows.bin", "integer", stored), x = bin("values.bin", "double", stored))
    list(X = X, y = bin("target.bin", "double", n), n = n, fact = fact)
}
