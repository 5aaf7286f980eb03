; display and flush-output of each line; told large, no flush: the remedy.
(import (chicken process-context) (chicken base))
(let* ((words (command-line-arguments))
       (large (string=? (car words) "large"))
       (lines (string->number (cadr words)))
       (text (open-output-string)))
  (do ((n 0 (+ n 1))) ((= n lines))
    (let ((out (if large text (current-output-port))))
      (display n out) (display " " out) (display (modulo n 17) out) (newline out))
    (if large
        (if (= 0 (modulo n 4000)) (begin (display (get-output-string text)) (set! text (open-output-string))))
        (flush-output)))
  (display (get-output-string text)))
