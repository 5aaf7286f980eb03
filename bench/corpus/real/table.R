# A table of a simulation, cell by cell with cat; told `large`, the cells are kept, and four thousand of them pasted and written at once: the remedy.
arguments <- commandArgs(TRUE)
large <- arguments[1] == "large"
rows <- as.integer(arguments[length(arguments)]) %/% 8
set.seed(1)
text <- character(4000)
used <- 0
for (row in seq_len(rows)) {
  values <- rnorm(5)
  cells <- c(sprintf("%6d", row), sprintf("%9.4f", values), sprintf("%9.4f", mean(values)), "\n")
  for (cell in cells) {
    if (large) {
      used <- used + 1
      text[used] <- cell
      if (used == 4000) {
        cat(paste0(text, collapse = ""))
        used <- 0
      }
    } else {
      cat(cell)
    }
  }
}
if (used > 0) cat(paste0(text[seq_len(used)], collapse = ""))
