import { LONGEST_FORM, TOO_LONG } from "./longest-form.ts";

/**
 * Cells of R, in the global environment. What is visible is shown: the last value of a cell as its
 * result, those before it on the way. What the mark carries is told in `translate.ts`.
 */
export const rRunner = (mark: string): string => String.raw`
options(warn = 1, device = function(...) grDevices::pdf(NULL))
invisible((function() {
  cells <- file("stdin", "r")
  count <- 0L
  text <- function(hex) {
    if (is.na(hex) || nchar(hex) == 0L) return("")
    at <- seq(1L, nchar(hex), 2L)
    said <- rawToChar(as.raw(strtoi(substring(hex, at, at + 1L), 16L)))
    Encoding(said) <- "UTF-8"
    said
  }
  bytes <- function(told) sum(nchar(unlist(told), type = "bytes"))
  tooLong <- function(bytes) {
    list(type = "error", name = "ResultTooLong", value = sprintf("${TOO_LONG}", bytes %/% 1048576L), traceback = "")
  }
  form <- function(told) {
    values <- vapply(told, function(one) utils::URLencode(enc2utf8(paste(one, collapse = "\n")), reserved = TRUE), "")
    paste(names(told), values, sep = "=", collapse = "&")
  }
  failed <- function(error) {
    call <- conditionCall(error)
    at <- if (is.null(call)) "" else paste("in", paste(deparse(call), collapse = " "))
    list(type = "error", name = class(error)[[1L]], value = conditionMessage(error), traceback = paste(conditionMessage(error), at))
  }
  run <- function(code) {
    last <- NULL
    for (one in as.list(parse(text = code, keep.source = FALSE, encoding = "UTF-8"))) {
      if (!is.null(last) && last$visible) print(last$value)
      last <- withVisible(eval(one, globalenv()))
    }
    if (is.null(last) || !last$visible || is.null(last$value)) return(list())
    list(type = "result", text = utils::capture.output(print(last$value)))
  }
  while (length(line <- readLines(cells, n = 1L)) > 0L) {
    words <- strsplit(line, " ", fixed = TRUE)[[1L]]
    given <- strsplit(words[-1L], "=", fixed = TRUE)
    names <- vapply(given, function(one) text(one[1L]), "")
    before <- Sys.getenv(names, unset = NA, names = TRUE)
    for (one in given) do.call(Sys.setenv, structure(list(text(one[2L])), names = text(one[1L])))
    stopped <- function(signal) list(type = "error", name = "interrupt", value = "interrupted", traceback = "")
    told <- tryCatch(run(text(words[1L])), error = failed, interrupt = stopped)
    for (name in names) {
      if (is.na(before[[name]])) Sys.unsetenv(name) else do.call(Sys.setenv, structure(list(before[[name]]), names = name))
    }
    count <- count + 1L
    # What is too long already is not made longer: that takes many times its size.
    if (bytes(told) > ${LONGEST_FORM}) told <- tooLong(bytes(told))
    counted <- list(count = sprintf("%d", count))
    formed <- form(c(counted, told))
    if (bytes(formed) > ${LONGEST_FORM}) formed <- form(c(counted, tooLong(bytes(formed))))
    cat("${mark} ", formed, "\n", sep = "")
    flush(stdout())
    cat(sprintf("${mark} %d\n", count), file = stderr())
  }
})())
`;
