; format and finish-output a line; told `large`, to a fully buffered stream and no finish-output until the end: the remedy.
(let* ((words (cdr sb-ext:*posix-argv*))
       (large (member "large" words :test (function string=)))
       (lines (parse-integer (car (last words))))
       (*standard-output* (if large
                              (sb-sys:make-fd-stream 1 :output t :input nil :buffering :full)
                              *standard-output*)))
  (dotimes (i lines)
    (format t "~d ~d~%" i (mod (* i 37) 1009))
    (unless large (finish-output)))
  (finish-output))
