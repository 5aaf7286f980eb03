#lang racket/base
; Three fields and a newline, and a flush a line; told `large`, a block-buffered port and no flush: the remedy.
(define arguments (current-command-line-arguments))
(define large? (equal? (vector-ref arguments 0) "large"))
(define lines (string->number (vector-ref arguments (- (vector-length arguments) 1))))
(when large? (file-stream-buffer-mode (current-output-port) 'block))
(for ([i (in-range (quotient lines 4))])
  (display i) (display #\space) (display (* i 7)) (newline)
  (unless large? (flush-output)))
